"""Turns with made-up values in them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from build import turns

from pipeline.privacy import PrivacyOptions, Redacted, Redactor
from schemas import DEAD_LETTER, GOLD

MAIL, PHONE, CARD, IBAN = "bob.k@example.org", "415-555-0132", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"
IP, STREET, SSN = "203.0.113.77", "22 Baker Street", "536-22-8726"
VALUES = {
    MAIL: "EMAIL_ADDRESS",
    PHONE: "PHONE_NUMBER",
    CARD: "CREDIT_CARD",
    IBAN: "IBAN_CODE",
    IP: "IP_ADDRESS",
    STREET: "STREET_ADDRESS",
    SSN: "US_SSN",
}


def redact(
    *rows: dict[str, Any], gold: pa.Table | None = None, dead: pa.Table | None = None, **options: Any
) -> Redacted:
    """Turns redacted."""
    letters = [] if dead is None else [dead]
    return Redactor(PrivacyOptions(**options)).redact(turns(*rows), GOLD.empty() if gold is None else gold, letters)


def one(utterance: str, **fields: Any) -> dict[str, Any]:
    """One turn redacted."""
    return redact({"utterance": utterance, **fields}).turns.to_pylist()[0]


def slot(name: str, value: str, start: int | None = None, end: int | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "start": start, "end": end}


def reading(*slots: dict[str, Any], domain: str = "d", intent: str = "i") -> dict[str, Any]:
    return {"domain": domain, "intent": intent, "slots": list(slots), "score": 0.9}


def letters(*details: str) -> pa.Table:
    rows = [
        {
            "reason": "invalid_json",
            "field": None,
            "source": {"uri": "a", "position": k},
            "detail": detail,
            "record": '{"a": "<text of 4>"}',
        }
        for k, detail in enumerate(details)
    ]
    return pa.Table.from_pylist(rows, schema=DEAD_LETTER.schema)
