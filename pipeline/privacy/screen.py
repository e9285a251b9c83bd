"""A quick look at all texts at once: which may hold something of a type. What it passes over, no recogniser sees."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import is_true
from pipeline.privacy import marks, spoken, streets

# Patterns that RE2 and Python read alike. Each is wider than what the type's recogniser takes.
SCREENS: Final[dict[str, str]] = {
    "EMAIL_ADDRESS": rf"@|＠|%40|{spoken.MAIL}",
    "PHONE_NUMBER": rf"\d(?:[^0-9A-Za-z\n]{{0,3}}\d){{6}}|{spoken.DIGITS}",
    "CREDIT_CARD": rf"\d(?:[- .]?\d){{13}}|{spoken.DIGITS}",
    "IBAN_CODE": r"[A-Za-z]{2}\d{2}[ -]?[A-Za-z0-9]{2}",
    "IP_ADDRESS": r"\d\.\d{1,3}\.\d{1,3}\.\d|::|(?:[0-9a-fA-F]{1,4}:){7}",
    "STREET_ADDRESS": r"\d",
    "US_SSN": r"\d{3}[-. ]?\d{2}[-. ]?\d{4}",
}
_COMPILED: Final = {type: re.compile(pattern, re.ASCII) for type, pattern in SCREENS.items()}
_STREET: Final = re.compile(streets.KINDS)
# An @ or a character of ASCII, escaped in a JSON text.
_ESCAPED: Final = r"\\u(?:00|(?i:ff20))"
# No text without one of these characters passes any of the above, or is a mark; much faster than they are. A letter of
# a JSON text may be escaped.
_FIRST: Final = rf"[@＠0-9{{<\[]|::|{_ESCAPED}|(?i: dot | punkt )|{spoken.DIGITS}"
_MOST: Final = "|".join([*(p for t, p in SCREENS.items() if t != "STREET_ADDRESS"), _ESCAPED])


def types_of(text: str) -> list[str]:
    """Types that a text may hold a value of."""
    found = [type for type, pattern in _COMPILED.items() if pattern.search(text)]
    if "STREET_ADDRESS" in found and not _STREET.search(text):
        found.remove("STREET_ADDRESS")
    return found


def candidates(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Rows whose text may hold a value or a mark, shape (k,)."""
    return np.flatnonzero(is_true(pc.match_substring_regex(texts, _FIRST)))


def likely(texts: pa.Array) -> npt.NDArray[np.bool_]:
    """Which texts pass any type's own pattern, or hold a JSON escape that may hide one, shape (n,)."""
    most = is_true(pc.match_substring_regex(texts, _MOST))
    rest = np.flatnonzero(~most)
    street = pc.match_substring_regex(texts.take(pa.array(rest)), streets.KINDS)
    most[rest[is_true(street)]] = True
    return most


def marked(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Platform marks in each text, shape (n,)."""
    out = np.zeros(len(texts), np.int64)
    # Counting is far slower than looking whether there is anything to count.
    some = np.flatnonzero(is_true(pc.match_substring_regex(texts, r"[<{\[]")))
    if len(some):
        out[some] = pc.count_substring_regex(texts.take(pa.array(some)), marks.PATTERN).to_numpy(zero_copy_only=False)
    return out
