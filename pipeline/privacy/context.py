"""Words beside a number that say what it is: what a spoken or typed text has in place of a form's label."""

from __future__ import annotations

import re
from typing import Final

# Code points before and after a value in which a word speaks for or against a type: a clause's length.
BEFORE: Final = 40
AFTER: Final = 25
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z\d])|[_.-]+")


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)


PHONE: Final = _words(
    "(?:tele|cell|smart)?phones?", "tel", "mobile", "mob", "cell", "call(?:ed|ers?|ing|back)?", "callback", "dial",
    "sms", "fax", "whatsapp", "reach", "hotline", "text me", "my number", "handy(?:nummer)?", "telefon(?:nummer)?",
    "mobil(?:nummer)?", "anrufen", "ruf(?:t|en)?", "rückruf", "erreich\\w+", "rufnummer",
    "téléphone", "portable", "teléfono", "móvil", "celular",
)  # fmt: skip
NO_PHONE: Final = _words(
    "orders?", "order number", "invoice", "ticket", "booking", "reservation", "reference", "ref", "tracking",
    "confirmation", "case", "account", "serial", "isbn", "ean", "sku", "item", "id", "pid", "code", "total", "usd",
    "eur", "gbp", "dollars?", "euros?", "bestellung", "bestellnummer", "rechnung", "kundennummer", "auftrag", "artikel",
)  # fmt: skip
ADDRESS: Final = _words(
    "address", "live[sd]?(?: at| on| in)?", "living", "deliver(?:y|ed)?", "ship(?:ped|ping)?", "mail it", "home is",
    "resid\\w+", "moved to", "pick me up", "adresse", "anschrift", "wohne", "wohnhaft", "liefern", "habite",
    "dirección",
)  # fmt: skip
ADDRESS_NAMES: Final = _words("address", "street", "adresse", "anschrift", "straße", "strasse", "rue", "calle")
# Before a number these say that it belongs to them, and after a street that it is a crossing: no house stands there.
NO_HOUSE: Final = re.compile(
    r"(?<!\w)(?:number|no\.?|door|bay|gate|platform|track|exit|level|floor|route|bus|line|room|terminal|stop|page|step|size"
    r"|top|version|chapter|section|highway|interstate|past|til|until|before|around|about|over|under|nearly)\s*$",
    re.IGNORECASE,
)
CROSSING: Final = re.compile(r"\s*(?:and|at|&|near|opposite|und|et)\s", re.IGNORECASE)
SSN: Final = _words("social", "security", "ssns?", "ss#?")
VERSION: Final = re.compile(
    r"(?<!\w)(?:version|release|build|firmware|driver|section|chapter|clause|ver|v)[\s.:#]*$", re.IGNORECASE
)
VERSIONS: Final = _words("versions?", "release", "firmware", "build", "upgrade[sd]?", "update[sd]?")
IP: Final = _words("ip", "ipv4", "ip-?address", "server", "host", "ping", "gateway", "dns", "router", "from")
CURRENCY: Final = re.compile(r"[$€£¥]\s?$")


# A label that a number follows without a space.
PHONE_LABEL: Final = re.compile(rf"(?:{PHONE.pattern})[-.:/]$", re.IGNORECASE)


def beside(words: re.Pattern[str], text: str, start: int, end: int, hint: str) -> bool:
    """Whether one of the words stands near a span of the text, or in the name of the field that holds it."""
    near = text[max(0, start - BEFORE) : start], text[end : end + AFTER]
    return any(words.search(part) for part in near) or named(words, hint)


def named(words: re.Pattern[str], hint: str) -> bool:
    """Whether one of the words is a part of a field's name."""
    return bool(hint) and bool(words.search(_CAMEL.sub(" ", hint)))


def just_before(words: re.Pattern[str], text: str, start: int) -> bool:
    """Whether the words end where a span begins."""
    return bool(words.search(text[max(0, start - BEFORE) : start]))
