"""What a street address looks like: a house number with a street's name, in English, German, French and Spanish."""

from __future__ import annotations

import re
from typing import Final

# Name of a pattern, pattern, score in usual letter case. A street's name is one to four words; none of them may be a
# small word or a unit, or "28 to Forbes Avenue" and "a 10 minute drive" were addresses.
_NO_NAME: Final = (
    r"(?!(?:to|from|on|at|in|and|or|the|of|off|for|by|near|is|are|was|via|with|bus|buses|stops?|mins?|minutes?|hours?|hrs?"
    r"|days?|weeks?|months?|years?|miles?|km|meters?|metres?|feet|more|other|different|people|persons?|guests?|rooms?|beds?"
    r"|nights?|stars?|am|pm|a|an|my|your|this|that|then|going|go|way|ways|percent|degrees?|dollars?|euros?|of)\b)"
)
_WORD: Final = rf"{_NO_NAME}[^\W\d_][\w'’.-]*"
_TYPE: Final = (
    r"(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|circle|cir|place|pl|square|sq|terrace"
    r"|parkway|pkwy|highway|hwy|trail|alley|crescent|close|mews|gardens|grove|way|row)"
)
_UNIT: Final = r"(?:,?\s+(?:apt|apartment|unit|suite|ste|flat|#)\.?\s*#?\w{1,5}\b)?"
_PLACE: Final = r"(?:,?\s+[^\W\d_][\w.'’-]{0,30}(?:\s+[^\W\d_][\w.'’-]{0,30}){0,2},?\s+[A-Z]{2}\s+\d{5}(?:-\d{4})?\b)?"
_NUMBER: Final = r"(?<![\w#$€£.,:/-])\d{1,5}[a-z]?(?:\s?[-–/]\s?\d{1,4}[a-z]?)?"
STREETS: Final = (
    (
        "number, name, kind",
        rf"{_NUMBER}\s+(?:[nsew]{{1,2}}\.?\s+)?(?:{_WORD}|\d{{1,3}}(?:st|nd|rd|th))(?:\s+{_WORD}){{0,2}}?\s+{_TYPE}\b\.?"
        rf"(?:\s+[nsew]{{1,2}}\b)?{_UNIT}{_PLACE}",
        0.7,
    ),
    (
        "name, number (German)",
        r"(?<!\w)(?:[^\W\d_][\w.-]{0,30}(?:straße|strasse|str\.|gasse|allee|chaussee)|[^\W\d_]{1,30}er\s+(?:straße|strasse|str\.|allee"
        r"|platz|weg|ring))\s*\d{1,4}(?:\s?[a-z])?\b(?:,?\s+\d{5}\s+[^\W\d_][\w-]{1,30})?",
        0.7,
    ),
    (
        "number, kind, name (French)",
        rf"{_NUMBER}(?:\s?(?:bis|ter))?,?\s+(?:rue|avenue|boulevard|place|chemin|allée|impasse|quai)\s+"
        r"(?:(?:de|du|des|la|le|les)\s+|de\s+la\s+|[ld]['’]){0,2}[^\W\d_][\w'’-]{1,30}(?:\s+\d{5}\s+[^\W\d_][\w-]{1,30})?",
        0.7,
    ),
    (
        "kind, name, number (Spanish)",
        r"(?<!\w)(?:calle|avenida|avda\.?|paseo|plaza)\s+(?:(?:de|del|la|las|los|el)\s+){0,2}[^\W\d_][\w-]{1,30}"
        r"(?:\s+[^\W\d_][\w-]{1,30}){0,2}?,?\s+(?:n[º°.]\s*)?\d{1,4}\b",
        0.7,
    ),
    ("post office box", r"(?<!\w)p\.?\s?o\.?\s?box\s+\d{1,6}\b", 0.7),
)
# A word of each, for the quick look that comes first.
KINDS: Final = (
    r"(?i)\b(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|circle|cir|place|pl|square|sq"
    r"|terrace|parkway|pkwy|highway|hwy|trail|alley|crescent|close|mews|gardens|grove|way|row|rue|chemin|all[ée]e"
    r"|impasse|quai|calle|avenida|avda|paseo|plaza|box)\b"
    r"|(?i:straße|strasse|str\.|gasse|allee|chaussee|er (?:platz|weg|ring))"
)
# Words that are more often something else than a street: capitals have to say that they are one.
_WEAK: Final = frozenset(
    {"place", "pl", "circle", "cir", "way", "row", "trail", "close", "drive", "court", "square", "st"}
)
_KIND: Final = re.compile(_TYPE, re.IGNORECASE)
_YEAR: Final = re.compile(r"(?:19|20)\d{2}\s")


def usual_case(address: str) -> bool:
    """Whether the street's name is written as names are, in capitals and small letters, and is no year's event."""
    words = [w for w in re.findall(r"(?<!\w)[^\W\d_][\w'’-]*", address) if w.lower() not in ("bis", "ter")]
    kind = next((k for k, word in enumerate(words) if k and _KIND.fullmatch(word)), None)
    if kind is None or not address[0].isdigit():
        return any(word[0].isupper() and not word.isupper() for word in words)
    weak = words[kind].lower() in _WEAK
    if weak and (words[kind].islower() or _YEAR.match(address)):
        return False
    name = words[:kind]
    return all(word[0].isupper() for word in name) and any(not word.isupper() for word in words[: kind + 1])
