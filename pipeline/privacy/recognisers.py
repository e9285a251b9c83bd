"""Presidio's pattern recognisers, one a type, called without an NLP model and without a network.

Each is given a text and the name of the field that holds it, and gives its findings with their scores; thresholds are
not its business. Where Presidio's own pattern, validation or flat score does not do for dialog, that part is replaced
here. Presidio takes seconds to import, so that happens when the first text needs it.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from pipeline.privacy import context, spoken, streets
from pipeline.privacy.finding import Finding
from pipeline.privacy.options import PrivacyOptions

Recogniser = Callable[[str, str], Iterator[Finding]]

# Longest parts of an e-mail address (RFC 5321); no more of a text is looked at, as the pattern is quadratic.
_LOCAL: Final = 64
_DOMAIN: Final = 255
# An @, in full width, and as it stands in a URL.
_AT: Final = re.compile("@|＠|%40")
# What a local part may hold by the letter and hardly ever does: there an assignment, a URL or a quotation ends.
_BEFORE_LOCAL: Final = re.compile(r".*(?:[=/?&|'`{}]|%(?:3[ADFadf]|2[267Ff]))")
# Network and length of the issuers' numbers (ISO/IEC 7812), in groups as printed or in one.
_NETWORK: Final = r"(?:4\d{3}|5[1-5]\d{2}|2(?:22[1-9]|2[3-9]\d|[3-6]\d{2}|7[01]\d|720)|6(?:011|[245]\d{2})|35\d{2})"
_CARDS: Final = tuple(
    rf"(?<!\w)(?<!\d[-.]){number}(?!\w)(?![-.]\d)"
    for number in (
        rf"{_NETWORK}([- .]?)\d{{4}}\1\d{{4}}\1\d{{4}}",
        r"(?:4\d{3}|6(?:011|[245]\d{2}))([- ]?)\d{4}\1\d{4}\1\d{4}\1\d{3}",
        r"3[47]\d{2}([- ]?)\d{6}\1\d{5}",
        r"3(?:0[0-5]|[68]\d)\d([- ]?)\d{6}\1\d{4}",
    )
)
_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){10,30}", re.ASCII)
# A run that may hold phone numbers, and the fewest digits of one with an area code.
_DIGITS: Final = re.compile(r"[+＋(]?\d[\d().\-/+ \t\u00a0]*\d")
_PHONE_DIGITS: Final = 7
_LOCAL_PHONE: Final = re.compile(r"(?<![\w.+/-])[2-9]\d{2}[-. ]\d{4}(?![\w/-])(?!\.\d)")
# Beside these a number is a part of something longer.
_PHONE_BEFORE: Final = re.compile(r"\w$|\w[-./_]$|\d:$|-$")
_PHONE_AFTER: Final = re.compile(r"\w|[-./:_]\w")
# Digits in groups that are no phone number: dates, years from and to, a decimal fraction.
_NO_NUMBER: Final = re.compile(
    r"(?<!\d)(?:(?:1[5-9]|20)\d{2}[-/.](?:0?\d|1[0-2])[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:1[5-9]|20)\d{2}"
    r"|(?:1\d|20)\d{2} ?- ?(?:1\d|20)\d{2}|(?:19|20)\d{2}(?:0\d|1[0-2])[0-3]\d)(?!\d)|^\(?\d{1,4}\.\d+$"
)
# Longest run that is given to the library; no number is as long.
_RUN: Final = 60
_PART: Final = re.compile(r"[^\s/]+")
_AREA_DIGITS: Final = 9
# Without a country's code; the longest national numbers in use.
_MOST_DIGITS: Final = 13


@cache
def presidio() -> Any:
    """The library's recognisers, imported when first needed."""
    # It would quote a text that it fails on.
    logging.getLogger("presidio-analyzer").setLevel(logging.CRITICAL)
    with _without("transformers"):
        from presidio_analyzer import predefined_recognizers
    return predefined_recognizers


@contextmanager
def _without(package: str) -> Iterator[None]:
    """Let an import do without an optional package: a second, and words on standard error, for models nobody asked for.

    One that is imported already is left alone.
    """
    if package in sys.modules:
        yield
        return
    # What an import of a package that is not there finds.
    sys.modules[package] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[package]


_lock: Final = threading.Lock()
_made: dict[tuple[str, str, float], Recogniser] = {}


def recogniser(type: str, options: PrivacyOptions) -> Recogniser:
    """The recogniser of a type; made once a process."""
    phone = type == "PHONE_NUMBER"
    key = (type, options.phone_regions if phone else "", options.phone if phone else 0.0)
    with _lock:
        if key not in _made:
            _made[key] = phones(options.phone_regions.split(","), options.phone) if phone else _MAKERS[type]()
        return _made[key]


def _spans(recogniser: Any, text: str, type: str) -> Iterator[tuple[int, int, float]]:
    for result in recogniser.analyze(text, [type], nlp_artifacts=None):
        yield result.start, result.end, result.score


def emails() -> Recogniser:
    """E-mail addresses. Presidio's own validation fetches the list of public suffixes; the one that ships is used."""
    import tldextract

    suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    class Email(presidio().EmailRecognizer):  # type: ignore[misc]
        def validate_result(self, pattern_text: str) -> bool | None:
            host = pattern_text.rpartition("@")[2]
            found = suffixes(host)
            if found.suffix and found.domain:
                return True
            # A host of a network of its own (`corp.local`) keeps the pattern's score; `pack@4.17.21` is a version.
            return None if host.rpartition(".")[2].isalpha() else False

    held = Email()

    def find(text: str, hint: str) -> Iterator[Finding]:
        for match in _AT.finditer(text):
            first, last = _word(text, *match.span())
            at = match.start() - first
            word = f"{text[first : match.start()]}@{text[match.end() : last]}"
            for start, end, score in _spans(held, word, "EMAIL_ADDRESS"):
                cut = _BEFORE_LOCAL.match(word, start, at)
                # The @ may stand for three characters.
                end += len(match.group()) - 1
                yield Finding(first + (cut.end() if cut else start), first + end, "EMAIL_ADDRESS", score)
        yield from spoken.mails(text, hint)

    return find


def _word(text: str, at: int, after: int) -> tuple[int, int]:
    """What stands around an @ without white space or another @, as far as an address can reach."""
    first, last = at, after
    while first > max(0, at - _LOCAL) and not text[first - 1].isspace() and text[first - 1] not in "@＠":
        first -= 1
    while last < min(len(text), at + _DOMAIN) and not text[last].isspace() and text[last] not in "@＠":
        last += 1
    return first, last


def cards() -> Recogniser:
    """Payment cards: an issuer's number with a right checksum."""
    library = presidio()
    from presidio_analyzer import Pattern

    patterns = [Pattern(f"card {k}", regex, 0.3) for k, regex in enumerate(_CARDS)]
    held = library.CreditCardRecognizer(patterns=patterns)

    def find(text: str, hint: str) -> Iterator[Finding]:
        for start, end, score in _spans(held, text, "CREDIT_CARD"):
            yield Finding(start, end, "CREDIT_CARD", score)
        yield from spoken.cards(text, hint)

    return find


def ibans() -> Recogniser:
    """IBANs in any letter case. Presidio's pattern takes a word that follows for a part of the number, and then finds
    nothing; here the country's own form says where the number ends.
    """
    held = presidio().IbanRecognizer()
    import regex
    from presidio_analyzer.predefined_recognizers.generic.iban_patterns import regex_per_country

    def find(text: str, hint: str) -> Iterator[Finding]:
        for match in _IBAN.finditer(text):
            written = match.group().upper().replace("-", " ")
            form = regex_per_country.get(written[:2])
            found = regex.match(form, written) if form else None
            if found is None:
                continue
            number = found.group().rstrip()
            end = match.start() + len(number)
            if not text[end : end + 1].isalnum() and held.validate_result(number):
                yield Finding(match.start(), end, "IBAN_CODE", 1.0)

    return find


def addresses_of_machines() -> Recogniser:
    """IP addresses, less those of no machine of a user, words like `dead::beef` and what reads like a version."""

    class Ip(presidio().IpRecognizer):  # type: ignore[misc]
        def invalidate_result(self, pattern_text: str) -> bool:
            try:
                address = ipaddress.ip_interface(pattern_text).ip
            except ValueError:
                return True
            return address.is_loopback or address.is_unspecified or not any(c.isdigit() for c in pattern_text)

    held = Ip()

    def find(text: str, hint: str) -> Iterator[Finding]:
        for start, end, score in _spans(held, text, "IP_ADDRESS"):
            if re.search(r"\d\.$", text[max(0, start - 2) : start]) or re.match(r"\.\d", text[end : end + 2]):
                continue
            small = all(len(part) == 1 for part in text[start:end].split("."))
            if context.just_before(context.VERSION, text, start) or (
                (small or context.beside(context.VERSIONS, text, start, end, hint))
                and not context.beside(context.IP, text, start, end, hint)
            ):
                score = min(score, 0.3)
            yield Finding(start, end, "IP_ADDRESS", score)

    return find


def phones(regions: list[str], least: float) -> Recogniser:
    """Phone numbers that are valid by their country's plan, scored by form and context.

    The library takes a millisecond a run of digits, so it is not asked about one whose score cannot reach `least`.
    """
    held = presidio().PhoneRecognizer(supported_regions=tuple(r.strip().upper() for r in regions))

    def spans(text: str, hint: str) -> Iterator[tuple[int, int, float]]:
        for begin, stop in _runs(text):
            run = text[begin:stop]
            digits = sum(c.isdigit() for c in _NO_NUMBER.sub("", run))
            if stop - begin > _RUN or digits < _PHONE_DIGITS:
                continue
            best = 0.8 if "+" in run or "＋" in run else _form(run)
            if best + _nearby(text, begin, stop, hint) < least:
                continue
            # What stands beside a number tells whether it is one: a letter or a currency says no.
            first = max(0, begin - 2)
            for start, end, _ in _spans(held, text[first : stop + 2], "PHONE_NUMBER"):
                yield first + start, first + end, _form(text[first + start : first + end])
        for match in _LOCAL_PHONE.finditer(text):
            yield *match.span(), 0.2

    def find(text: str, hint: str) -> Iterator[Finding]:
        for start, end, score in spans(text, hint):
            if _is_part(text, start, end) or _NO_NUMBER.search(text[start:end]) or _too_long(text[start:end]):
                continue
            score += _nearby(text, start, end, hint)
            if score > 0:
                yield Finding(start, end, "PHONE_NUMBER", min(1.0, round(score, 2)))
        yield from spoken.numbers(text, hint)

    return find


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a number is a part of something longer, by what touches it; a label that it follows is not."""
    if _PHONE_AFTER.match(text[end : end + 2]):
        return True
    before = _PHONE_BEFORE.search(text[max(0, start - 2) : start])
    return bool(before) and not context.just_before(context.PHONE_LABEL, text, start)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Runs of digits with what stands between those of a number; a long one in parts, as the library is quadratic."""
    for run in _DIGITS.finditer(text):
        begin = stop = run.start()
        parts = [run.span()] if len(run.group()) <= _RUN else [m.span() for m in _PART.finditer(text, *run.span())]
        for first, last in parts:
            if last - begin > _RUN:
                yield begin, stop
                begin = first
            stop = last
        yield begin, stop


def _nearby(text: str, start: int, end: int, hint: str) -> float:
    """What the words beside a number speak for or against its being one that is called."""
    if context.beside(context.PHONE, text, start, end, hint):
        return 0.35
    money = context.just_before(context.CURRENCY, text, start)
    return -0.4 if money or context.beside(context.NO_PHONE, text, start, end, hint) else 0.0


def _form(number: str) -> float:
    """How much a number looks like one that is called, by its form alone."""
    if number[0] in "+＋":
        return 0.8
    if number.isdigit():
        return 0.3
    return 0.6 if sum(c.isdigit() for c in number) >= _AREA_DIGITS else 0.2


def _too_long(number: str) -> bool:
    return number[0] not in "+＋" and sum(c.isdigit() for c in number) > _MOST_DIGITS


def addresses() -> Recogniser:
    """Street addresses: a house number with a street's name."""
    presidio()
    from presidio_analyzer import Pattern, PatternRecognizer

    held = PatternRecognizer(
        supported_entity="STREET_ADDRESS",
        patterns=[Pattern(name, regex, score) for name, regex, score in streets.STREETS],
    )

    def find(text: str, hint: str) -> Iterator[Finding]:
        for start, end, score in _spans(held, text, "STREET_ADDRESS"):
            end -= text[start:end].endswith(".")
            # In lower case, or all in capitals, "5 forbes avenue" may be the end of one thing and the start of another.
            if not streets.usual_case(text[start:end]):
                score -= 0.3
            if context.beside(context.ADDRESS, text, start, end, "") or context.named(context.ADDRESS_NAMES, hint):
                score += 0.3
            elif context.just_before(context.NO_HOUSE, text, start) or context.CROSSING.match(text, end):
                score -= 0.4
            if score > 0:
                yield Finding(start, end, "STREET_ADDRESS", min(1.0, round(score, 2)))

    return find


def social_security() -> Recogniser:
    """US social security numbers."""
    held = presidio().UsSsnRecognizer()

    def find(text: str, hint: str) -> Iterator[Finding]:
        for start, end, score in _spans(held, text, "US_SSN"):
            number = text[start:end]
            if len(number) not in (9, 11) or re.search(r"[-./]$", text[max(0, start - 1) : start]):
                continue
            score = 0.6 if re.fullmatch(r"\d{3}-\d{2}-\d{4}", number) else 0.3
            if context.beside(context.SSN, text, start, end, hint):
                score += 0.35
            yield Finding(start, end, "US_SSN", round(score, 2))

    return find


_MAKERS: Final[dict[str, Callable[[], Recogniser]]] = {
    "EMAIL_ADDRESS": emails,
    "CREDIT_CARD": cards,
    "IBAN_CODE": ibans,
    "IP_ADDRESS": addresses_of_machines,
    "STREET_ADDRESS": addresses,
    "US_SSN": social_security,
}
