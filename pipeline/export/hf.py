"""Hugging Face token classification: JSON lines of text, intent, tokens and ner_tags."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pipeline import storage
from pipeline.export.names import Names
from pipeline.export.utterances import Splits, Utterance


def write(splits: Splits, names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The files, by name: `<split>.jsonl`; every name is taken."""
    told["rows.written"] += sum(map(len, splits.values()))
    return {
        f"{split}.jsonl": b"".join(storage.canonical_json(_record(row)) + b"\n" for row in rows)
        for split, rows in splits.items()
    }


def _record(row: Utterance) -> dict[str, Any]:
    held = {"id": row.id, "text": row.text, "intent": row.intent, "locale": row.locale}
    return held | {"tokens": row.tokens, "ner_tags": row.tags}
