"""Numbers and e-mail addresses as a recogniser of speech writes them down: digit by digit, "bob at gmail dot com"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pipeline.privacy import context
from pipeline.privacy.finding import Finding

_ENGLISH: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_GERMAN: Final = ("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
_VALUES: Final = {word: k for words in (_ENGLISH, _GERMAN) for k, word in enumerate(words)} | {
    "oh": 0,
    "o": 0,
    "zwo": 2,
}
_WORD: Final = rf"(?:{'|'.join(sorted(_VALUES, key=len, reverse=True))})"
_TIMES: Final = {"double": 2, "triple": 3}
_ITEM: Final = rf"(?:(?:double|triple)\s+)?{_WORD}"
# Fewer are routes, rooms and times.
LEAST: Final = 7
# Screens that RE2 and Python read alike.
DIGITS: Final = rf"(?i:(?:\b(?:(?:double|triple)[ ,-]+)?{_WORD}[ ,-]+){{5}})"
MAIL: Final = r"(?i:\bat\s.{1,60}\s(?:dot|punkt)\s)"
_RUN: Final = re.compile(rf"(?<![\w-]){_ITEM}(?:[ ,-]+(?:{_ITEM}))+(?![\w-])", re.IGNORECASE)
_MOST_PHONE: Final = 13

_PART: Final = r"[\w+-]{1,32}"
_JOIN: Final = r"\s+(?:dot|point|underscore|dash|hyphen|minus|plus|punkt)\s+"
_MAIL: Final = re.compile(
    rf"(?<!\w){_PART}(?P<joined>(?:{_JOIN}{_PART}){{0,4}})\s+at\s+(?P<host>{_PART}(?:\s+(?:dot|punkt)\s+{_PART}){{0,2}}"
    r"\s+(?:dot|punkt)\s+(?:com|org|net|edu|gov|io|co|info|de|fr|uk|es|it|nl|eu|ca|us|in))(?!\w)",
    re.IGNORECASE,
)
_PROVIDERS: Final = re.compile(
    r"(?:gmail|googlemail|yahoo|hotmail|outlook|icloud|aol|gmx|web|proton(?:mail)?|mail|live|msn|me)\s", re.IGNORECASE
)
_SAYS_MAIL: Final = re.compile(r"(?<!\w)(?:e-?mails?|mail|adresse|address|contact|write|send)(?!\w)", re.IGNORECASE)


def numbers(text: str, hint: str) -> Iterator[Finding]:
    """Phone numbers of at least `LEAST` spoken digits: 0.5, more or less beside words that speak for or against it."""
    for match in _RUN.finditer(text):
        digits = _digits(match.group())
        if not LEAST <= len(digits) <= _MOST_PHONE or _counts(digits):
            continue
        score = 0.5
        if context.beside(context.PHONE, text, *match.span(), hint):
            score += 0.35
        elif context.beside(context.NO_PHONE, text, *match.span(), hint):
            score -= 0.4
        yield Finding(*match.span(), "PHONE_NUMBER", round(score, 2))


def cards(text: str, hint: str) -> Iterator[Finding]:
    """Payment cards of 15 or 16 spoken digits with a right checksum."""
    for match in _RUN.finditer(text):
        digits = _digits(match.group())
        if len(digits) in (15, 16) and digits[0] in (2, 3, 4, 5, 6) and _luhn(digits):
            yield Finding(*match.span(), "CREDIT_CARD", 1.0)


def mails(text: str, hint: str) -> Iterator[Finding]:
    """E-mail addresses: 0.6 with a provider's host, a joined name or a word like "mail" nearby, else 0.3."""
    for match in _MAIL.finditer(text):
        start = match.start()
        sure = (
            _PROVIDERS.match(match["host"])
            or match["joined"]
            or context.beside(_SAYS_MAIL, text, start, match.end(), hint)
        )
        yield Finding(start, match.end(), "EMAIL_ADDRESS", 0.6 if sure else 0.3)


def _digits(run: str) -> list[int]:
    out: list[int] = []
    times = 1
    for word in re.findall(r"\w+", run.lower()):
        if word in _TIMES:
            times = _TIMES[word]
            continue
        out += [_VALUES[word]] * times
        times = 1
    return out


def _counts(digits: list[int]) -> bool:
    """Somebody counts up, or down, or says one digit on and on."""
    steps = {b - a for a, b in pairwise(digits)}
    return len(steps) == 1 and steps <= {-1, 0, 1}


def _luhn(digits: list[int]) -> bool:
    doubled = (sum(divmod(2 * d, 10)) if k % 2 else d for k, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0
