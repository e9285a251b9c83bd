"""What is redacted, and from which score on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Types that are found here, and the option that holds the threshold of each; a plug may add others.
TYPES: Final[dict[str, str]] = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip",
    "STREET_ADDRESS": "address",
    "US_SSN": "ssn",
}


@dataclass(frozen=True)
class PrivacyOptions:
    """Redaction at ingest; a score is in [0, 1].

    Attributes
    ----------
    redact : bool
        Replace e-mail addresses, phone numbers, cards, IBANs, IP and street addresses and social security numbers by
        marks such as `<EMAIL_ADDRESS>` before anything is written; see docs/privacy.md.
    email : float
        Least score of an e-mail address: 1 where its domain ends in a public suffix, else 0.5. A threshold over 1
        leaves a type alone, this one and the others.
    phone : float
        Least score of a phone number: 0.8 with a country's code, 0.6 in groups, 0.3 as bare digits, 0.2 without an area
        code; 0.35 more beside a word like "call" or in a slot of such a name, 0.4 less beside one like "order" or a
        currency. The default wants form or context.
    card : float
        Least score of a payment card: 1, as issuer, length and checksum have to be right.
    iban : float
        Least score of an IBAN: 1, as the country's form and the checksum have to be right.
    ip : float
        Least score of an IP address: 0.6; 0.3 where it reads like the number of a version or a section.
    address : float
        Least score of a street address, a street's name with a number: 0.7 in usual letter case, 0.4 in lower case or
        capitals only, as recognisers write it; 0.3 more beside words like "live at" or in a slot of such a name.
    ssn : float
        Least score of a US social security number: 0.6 with dashes, 0.3 in other forms; 0.35 more beside a word like
        "social".
    phone_regions : str
        Countries (ISO 3166-1, with commas) whose national forms of phone numbers are known; those with a leading + are
        known of all.
    recogniser : str or None
        `module:callable` of a recogniser of yours, for example of names: it is given a list of texts and returns for
        each the list of its (start, end, type, score), in code points. It sees every distinct text, so it sets the
        pace.
    recogniser_score : float
        Least score of what it finds.
    sample_rows : int
        Most rows a type in the audited sample of redactions (`stages/ingest/redactions`), the same ones in each run.
    """

    redact: bool = True
    email: float = 0.5
    phone: float = 0.5
    card: float = 0.5
    iban: float = 0.5
    ip: float = 0.5
    address: float = 0.6
    ssn: float = 0.5
    phone_regions: str = "US,GB,DE,FR,IN,CA,BR"
    recogniser: str | None = None
    recogniser_score: float = 0.5
    sample_rows: int = 50

    def threshold(self, type: str) -> float:
        """Least score of a type."""
        name = TYPES.get(type)
        return self.recogniser_score if name is None else float(getattr(self, name))
