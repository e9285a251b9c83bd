"""A synthetic set of sentences with personal values of each type, and of sentences that only look as if; fixed seed.

The values are made by the rules of those who issue them (number plans, ISO 13616, ISO/IEC 7812), not by the patterns
that look for them, and belong to nobody but by chance.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

TYPES: Final = (
    "EMAIL_ADDRESS",
    "PHONE_NUMBER",
    "CREDIT_CARD",
    "IBAN_CODE",
    "IP_ADDRESS",
    "STREET_ADDRESS",
    "US_SSN",
)


@dataclass(frozen=True)
class Sentence:
    """A text and the value in it.

    Attributes
    ----------
    text : str
    type : str or None
        What the value is; None = the sentence holds none.
    form : str
        How it is written, or which look-alike stands in the sentence.
    start, end : int
        Span of the value in code points; 0, 0 where there is none.
    """

    text: str
    type: str | None
    form: str
    start: int = 0
    end: int = 0


_SAID: Final[dict[str, tuple[str, ...]]] = {
    "EMAIL_ADDRESS": (
        "send it to {}", "{} is my mail", "write {}, please", "<{}> wrote:", "add {} to the meeting at 5", "({})",
        "contact={};", "bitte an {} schicken",
    ),
    "PHONE_NUMBER": (
        "call me on {}", "my phone number is {}", "{} is my mobile", "text me: {}", "you can reach me at {}, after 6",
        "ruf mich an unter {}", "dial {} now",
    ),
    "PHONE_NUMBER.alone": ("it is {}", "{}", "yes, {} please", "that was {}."),
    "CREDIT_CARD": (
        "my card is {}", "{} expires 12/27", "charge {} please", "visa {}, cvv 123", "it's {}", "use {} instead",
    ),
    "IBAN_CODE": ("pay to {} from savings", "my iban is {}", "{}", "IBAN: {}.", "transfer 50 euros to {} today"),
    "IP_ADDRESS": (
        "the server {} is down", "request from {} failed", "ping {}", "2026-03-01 10:11:12 GET /a {} 200", "block {}",
        "my ip is {}",
    ),
    "STREET_ADDRESS": (
        "send a taxi to {}", "i live at {}", "{}", "the parcel goes to {} tomorrow", "my address is {}, second floor",
        "deliver to {} please",
    ),
    "STREET_ADDRESS.context": (
        "i live at {}", "my address is {}", "deliver to {} please", "ship it to {}", "my home address {}",
    ),
    "STREET_ADDRESS.alone": ("navigate to {}", "how far is {}", "{}"),
    "US_SSN": ("my social is {}", "{} is my social security number", "ssn {}", "social security: {}"),
    "US_SSN.alone": ("it is {}", "{}"),
    # In what has the form of a platform's mark.
    "CREDIT_CARD.marked": ("[CC {}] please", "<CARD {}>", "charge [CARD-{}]", "[PAYMENT CARD {}] [NAME]"),
    "IBAN_CODE.marked": ("[IBAN {}]", "pay to <ACCOUNT {}>", "{{{}}} please", "[IBAN_{}]"),
    "PHONE_NUMBER.marked": ("[CALLER {}] hello", "<TEL {}>", "[PHONE_{}] is {full_name}", "dial [CONTACT {}]"),
    # Without a space behind what it is called.
    "PHONE_NUMBER.label": ("tel:{}", "WhatsApp:{} please", "Phone:{}", "Tel.{}", "mobile:{}, thanks"),
}  # fmt: skip
_FIRST: Final = ("anna", "bob", "chen", "dmitri", "elif", "fatima", "george", "hanna", "ivan", "joão", "kim", "lucy")
_LAST: Final = ("smith", "garcia", "müller", "nowak", "okafor", "patel", "rossi", "silva", "tanaka", "young")
_HOSTS: Final = ("gmail.com", "web.de", "mail.example.co.uk", "uni-bonn.de", "company.io", "yahoo.fr", "x.museum")
_STREETS: Final = (
    "Maple", "Forbes", "Kingston", "Old Mill", "Saint Andrews", "5th", "West Washington", "Queen Anne", "Van Ness",
    "Harbour View", "MacArthur", "O'Connell",
)  # fmt: skip
_KINDS: Final = ("Street", "Avenue", "Road", "Lane", "Drive", "Boulevard", "Court", "St", "Ave", "Rd.", "Square", "Way")
_TOWNS: Final = ("Springfield, IL 62704", "Portland, OR 97201", "Austin, TX 78701")


def sentences(count: int = 300, seed: int = 5) -> list[Sentence]:
    """The set: `count` sentences a form, of all types and of what looks like them."""
    draw = random.Random(seed)
    out = []
    for type, form, said, make in _values():
        for _ in range(count):
            value = make(draw)
            before, after = draw.choice(_SAID[said]).split("{}")
            text = f"{before}{value}{after}"
            out.append(Sentence(text, type, form, len(before), len(before) + len(value)))
    for form, look in _LOOK_ALIKE.items():
        out += [Sentence(look(draw), None, form) for _ in range(count)]
    return out


def _values() -> Iterator[tuple[str, str, str, Callable[[random.Random], str]]]:
    """Type, form, sentences that it is said in, and how a value is made."""
    mail, phone, card, iban, ip, street, ssn = TYPES
    yield mail, "plain", mail, _mail
    yield mail, "upper", mail, lambda d: _mail(d).upper()
    yield (
        mail,
        "own network",
        mail,
        lambda d: f"{_local(d)}@{d.choice(('mail', 'hr', 'x1'))}.{d.choice(('corp', 'lan'))}",
    )
    yield mail, "full-width @", mail, lambda d: _mail(d).replace("@", "＠")
    yield mail, "in a URL", mail, lambda d: _mail(d).replace("@", "%40")
    yield mail, "spoken", mail, lambda d: _mail(d).replace("@", " at ").replace(".", " dot ")
    for country, forms in _PHONES.items():
        yield phone, country, phone, lambda d, f=forms: _digits(d, d.choice(f))
    forms = ("415NXXXXXX", "415-NXX-XXXX", "+1 415 NXX XXXX", "+491715NXXXXX")
    yield phone, "after a label", f"{phone}.label", lambda d: _digits(d, d.choice(forms))
    yield phone, "in a mark", f"{phone}.marked", lambda d: _digits(d, d.choice(forms[:2]))
    yield phone, "US, alone", f"{phone}.alone", lambda d: _digits(d, d.choice(_PHONES["US"]))
    yield phone, "US, bare", phone, lambda d: _digits(d, "412NXXXXXX")
    yield phone, "US, bare, alone", f"{phone}.alone", lambda d: _digits(d, "412NXXXXXX")
    yield phone, "spoken", phone, lambda d: " ".join(_SPOKEN[int(c)] for c in _digits(d, "412NXXXXXX"))
    yield card, "groups", card, lambda d: _grouped(_card(d), d.choice((" ", "-")))
    yield card, "one run", card, _card
    yield card, "in a mark", f"{card}.marked", lambda d: _grouped(_card(d), d.choice((" ", "-")))
    yield iban, "groups", iban, lambda d: _grouped(_iban(d), " ")
    yield iban, "one run", iban, _iban
    yield iban, "lower case", iban, lambda d: _iban(d).lower()
    yield iban, "in a mark", f"{iban}.marked", _iban
    yield ip, "v4", ip, lambda d: ".".join(str(d.randint(11, 126)) for _ in range(4))
    yield ip, "v6", ip, lambda d: "2001:db8:" + ":".join(f"{d.randint(1, 65535):x}" for _ in range(6))
    yield ip, "v6, short", ip, lambda d: f"2001:db8::{d.randint(1, 65535):x}:{d.randint(1, 65535):x}"
    yield street, "English", street, _street
    yield street, "English, town", street, lambda d: f"{_street(d)}, {d.choice(_TOWNS)}"
    yield street, "English, unit", street, lambda d: f"{_street(d)}, Apt {d.randint(1, 99)}"
    yield street, "lower case", f"{street}.context", lambda d: _street(d).lower()
    yield street, "lower case, alone", f"{street}.alone", lambda d: _street(d).lower()
    yield street, "German", street, _german_street
    yield street, "French", street, _french_street
    yield street, "Spanish", street, _spanish_street
    yield ssn, "dashes", ssn, lambda d: _ssn(d, "-")
    yield ssn, "dashes, alone", f"{ssn}.alone", lambda d: _ssn(d, "-")
    yield ssn, "other", ssn, lambda d: _ssn(d, d.choice((" ", "")))


def _local(draw: random.Random) -> str:
    first, last = draw.choice(_FIRST), draw.choice(_LAST)
    forms = (f"{first}.{last}", f"{first[0]}{last}{draw.randint(1, 99)}", f"{first}+news", f"{first}_{last}", first)
    return draw.choice(forms)


def _mail(draw: random.Random) -> str:
    return f"{_local(draw)}@{draw.choice(_HOSTS)}"


# N is 2 to 9, X any digit.
_PHONES: Final[dict[str, tuple[str, ...]]] = {
    "US": ("(412) NXX-XXXX", "412-NXX-XXXX", "412.NXX.XXXX", "212 NXX XXXX", "1-646-NXX-XXXX", "+1 415 NXX XXXX"),
    "GB": ("020 7NXX XXXX", "07911 1XXXXX", "01223 3XXXXX", "+44 20 7NXX XXXX", "0161 NXX XXXX"),
    "DE": ("030 9018XXX", "0171/5NXXXXX", "+49 (0)30 9018XXX", "089-NXXXXXX", "+49 171 5NXXXXX", "0221 / NXXXXXX"),
    "FR": ("06 12 NX XX XX", "01.44.NX.XX.XX", "+33 1 44 NX XX XX", "07-61-NX-XX-XX"),
    "IN": ("98765 NXXXX", "+91 98765 NXXXX", "+91-98765-NXXXX"),
    "other": ("+81 3-3NXX-XXXX", "+61 2 9NXX XXXX", "+48 22 NXX XX XX", "+34 91 NXX XX XX", "+55 11 9NXXX-XXXX"),
}
_SPOKEN: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _digits(draw: random.Random, form: str) -> str:
    digits = {"N": lambda: str(draw.randint(2, 8)), "X": lambda: str(draw.randint(0, 9))}
    return "".join(digits[c]() if c in digits else c for c in form)


def _luhn(body: str) -> int:
    odd = [int(c) for c in reversed(body)]
    doubled = [sum(divmod(2 * d, 10)) if k % 2 == 0 else d for k, d in enumerate(odd)]
    return -sum(doubled) % 10


def _card(draw: random.Random, wrong: int = 0) -> str:
    prefix, length = draw.choice(
        (("4", 16), ("51", 16), ("2221", 16), ("6011", 16), ("3530", 16), ("34", 15), ("37", 15))
    )
    body = prefix + "".join(str(draw.randint(0, 9)) for _ in range(length - 1 - len(prefix)))
    return body + str((_luhn(body) + wrong) % 10)


def _grouped(number: str, by: str) -> str:
    sizes = (4, 6, 5) if len(number) == 15 else (4,) * 10
    parts, at = [], 0
    for size in sizes:
        parts.append(number[at : at + size])
        at += size
    return by.join(p for p in parts if p)


# Country to what follows the check digits: 9 a digit, A a capital.
_IBANS: Final = {"DE": "9" * 18, "GB": "AAAA" + "9" * 14, "FR": "9" * 23, "NL": "AAAA" + "9" * 10, "ES": "9" * 20}


def _iban(draw: random.Random, wrong: int = 0) -> str:
    country = draw.choice(tuple(_IBANS))
    body = "".join(
        draw.choice(string.digits) if c == "9" else draw.choice(string.ascii_uppercase) for c in _IBANS[country]
    )
    number = int("".join(str(int(c, 36)) for c in f"{body}{country}00"))
    return f"{country}{(98 - number % 97 + wrong - 2) % 97 + 2:02d}{body}"


def _street(draw: random.Random) -> str:
    number = f"{draw.randint(1, 2500)}{draw.choice(('', '', '', 'a', '-12'))}"
    return f"{number} {draw.choice(_STREETS)} {draw.choice(_KINDS)}"


def _german_street(draw: random.Random) -> str:
    name = draw.choice(
        ("Bahnhofstraße", "Goethestr.", "Lindenallee", "Berliner Straße", "Hauptstrasse", "Kölner Platz")
    )
    return f"{name} {draw.randint(1, 200)}{draw.choice(('', '', 'a'))}{draw.choice(('', ', 10115 Berlin'))}"


def _french_street(draw: random.Random) -> str:
    name = draw.choice(("rue de la Paix", "avenue des Ternes", "boulevard Voltaire", "rue Lepic", "place du Marché"))
    return f"{draw.randint(1, 200)}{draw.choice(('', ' bis'))}{draw.choice((' ', ', '))}{name}"


def _spanish_street(draw: random.Random) -> str:
    name = draw.choice(
        ("Calle Mayor", "Avenida de la Constitución", "Calle de Alcalá", "Plaza España", "Paseo del Prado")
    )
    return f"{name}{draw.choice((' ', ', '))}{draw.randint(1, 200)}"


def _ssn(draw: random.Random, by: str) -> str:
    return by.join((f"{draw.randint(101, 665)}", f"{draw.randint(1, 99):02d}", f"{draw.randint(1, 9999):04d}"))


def _time(draw: random.Random) -> str:
    return f"{draw.randint(1, 12)}:{draw.randint(0, 59):02d}"


def _date(draw: random.Random) -> tuple[int, int, int]:
    return draw.randint(1990, 2030), draw.randint(1, 12), draw.randint(1, 28)


# Sentences without a value, by what stands in them.
_LOOK_ALIKE: Final[dict[str, Callable[[random.Random], str]]] = {
    "order number": lambda d: (
        f"where is {d.choice(('order', 'invoice', 'ticket', 'booking'))} "
        f"{_digits(d, d.choice(('114-NXXXXXX-XXXXXXX', 'NXXXXXXXXX', 'NXX-XXXXXX', '000NXXXXXX', 'A-NXXX-XXXX')))}"
    ),
    "bus route": lambda d: f"take the {d.randint(1, 99)}{d.choice('ABCDX')} to {d.choice(_STREETS)} {d.choice(_KINDS)}",
    "crossing": lambda d: f"{d.choice(_STREETS)} Avenue and {d.choice(_STREETS)} {d.choice(_KINDS)} at {_time(d)} pm",
    "stop": lambda d: f"stop {d.randint(1, 40)} {d.choice(_STREETS)} {d.choice(_KINDS)}, bay {d.randint(1, 9)}",
    "time": lambda d: f"wake me at {_time(d)} or {_time(d)}:{d.randint(10, 59)} am",
    "date": lambda d: "on {2:02d}.{1:02d}.{0} or {0}-{1:02d}-{2:02d} or {1}/{2}/{0}".format(*_date(d)),
    "years": lambda d: f"the war ({d.randint(1500, 1990)}-{d.randint(1991, 2030)})",
    "version": lambda d: f"version {d.randint(1, 9)}.{d.randint(0, 30)}.{d.randint(0, 30)}.{d.randint(0, 200)} is out",
    "section": lambda d: f"see {'.'.join(str(d.randint(1, 9)) for _ in range(4))} below",
    "amount": lambda d: (
        f"transfer {d.randint(1, 999)},{_digits(d, 'XXX')},{_digits(d, 'XXX')}.{_digits(d, 'XX')} dollars"
    ),
    "log prefix": lambda d: (
        f"2026-03-{d.randint(1, 28):02d}T10:{_digits(d, '3X')}:{_digits(d, '4X')},{_digits(d, 'XXX')} INFO "
        f"[pool-{d.randint(1, 9)}-thread-{d.randint(1, 99)}] id={_digits(d, 'NXXXXXXXXX')} took {d.randint(1, 9999)} ms"
    ),
    "epoch": lambda d: f"at {_digits(d, '17XXXXXXXXXXX')} and {_digits(d, '17XXXXXXXXXXXXXX')}",
    "card, wrong checksum": lambda d: f"my card is {_grouped(_card(d, d.randint(1, 9)), ' ')}",
    "iban, wrong checksum": lambda d: f"my iban is {_iban(d, d.randint(1, 90))}",
    "package": lambda d: f"npm i lodash@{d.randint(1, 9)}.{d.randint(0, 99)}.{d.randint(0, 99)} @types/node a@b",
    "distance": lambda d: f"a {d.randint(2, 90)} minute drive, {d.randint(2, 9)} more miles on the road",
    "coordinates": lambda d: (
        f"({d.randint(0, 89)}.{_digits(d, 'XXXXXX')}, -{d.randint(0, 179)}.{_digits(d, 'XXXXXXX')})"
    ),
    "code": lambda d: (
        f"std::vector, {d.choice(('dead', 'beef', 'cafe'))}::{d.choice(('add', 'fed'))}, uuid {d.getrandbits(128):032x}"
    ),
    "tracking": lambda d: f"tracking {_digits(d, '1Z999AA1NXXXXXXXXX')} and isbn 978-3-{_digits(d, '16-14841X-X')}",
}
