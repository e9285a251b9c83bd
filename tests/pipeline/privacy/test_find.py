"""What is found, and what is not, by value."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_values import CARD, MAIL, VALUES

from pipeline.errors import ConfigError
from pipeline.privacy import PrivacyOptions, marks, plug, screen
from pipeline.privacy.find import Finder
from pipeline.privacy.finding import Finding, merged

ROOT = Path(__file__).parents[3]
FINDER = Finder(PrivacyOptions())


def found(text: str, hint: str = "", finder: Finder = FINDER) -> list[tuple[str, str]]:
    return [(text[f.start : f.end], f.type) for f in finder.find(text, hint)]


@pytest.mark.parametrize(("value", "type"), VALUES.items())
def test_each_type_in_a_sentence(value: str, type: str):
    assert found(f"well it is {value}, ok?") == [(value, type)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("write to (sue.k+x@corp.local).", "sue.k+x@corp.local"),
        ("https://shop.example/?mail=bob@example.org&x=1", "bob@example.org"),
        ("two: a.b@c-d.co.uk,e@f.de", "a.b@c-d.co.uk"),
        ("please call 4155550132 back", "4155550132"),
        ("bitte 4155550132 zurück rufen", "4155550132"),
        ("ring +49 (30) 901820", "+49 (30) 901820"),
        ("unter 0171/1234567 erreichbar", "0171/1234567"),
        ("on 06 12 34 56 78 please", "06 12 34 56 78"),
        ("call 555-0132", "555-0132"),
        ("amex 3782 822463 10005", "3782 822463 10005"),
        ("4111111111111111 12/27 123", "4111111111111111"),
        ("iban es9121000418450200051332 from my bank", "es9121000418450200051332"),
        ("ping 2001:db8::ff00:42:8329 now", "2001:db8::ff00:42:8329"),
        ("i live at 22 baker street", "22 baker street"),
        ("21 - 24 Northampton Street, Apt 5", "21 - 24 Northampton Street, Apt 5"),
        ("Berliner Straße 12, 10115 Berlin", "Berliner Straße 12, 10115 Berlin"),
        ("12 bis rue de la Paix", "12 bis rue de la Paix"),
        ("PO Box 1234", "PO Box 1234"),
        (
            "my number is four one two five five five oh one double three",
            "four one two five five five oh one double three",
        ),
        ("null eins sieben eins fünf fünf fünf zwo drei", "null eins sieben eins fünf fünf fünf zwo drei"),
        ("mail jana dot litt at gmail dot com please", "jana dot litt at gmail dot com"),
        (f"card {' '.join(['four', *['one'] * 15])}", " ".join(["four", *["one"] * 15])),
    ],
)
def test_forms(text: str, value: str):
    assert found(text)[0][0] == value


@pytest.mark.parametrize(
    "text",
    [
        "the 61C to Forbes Avenue at 5:45 pm",
        "Fifth Avenue and Number 3 Fortieth Street",
        "take the 28 to Forbes Avenue",
        "a 10 minute drive",
        "the 2026 World Cup takes place.",
        "order 4155550132",
        "it is 4155550132",
        "order number 415-555-0132",
        "$415 555 0132",
        "07-22-2010",
        "2010-07-22 10:11:12.123456",
        "claude-sonnet-4-5-20250929",
        "(1642-1651)",
        "4111 1111 1111 1112",
        "7e22911804-20130324",
        "DE89 3704 0044 0532 0130 01",
        "version 10.2.33.4",
        "10.2.33.4 is the newest version",
        "section 1.2.3.4",
        "1.2.3.4.5",
        "127.0.0.1",
        "std::dead::beef",
        "lodash@4.17.21",
        "@app.route",
        "1,234,567.89",
        "1700000000000",
        "536 22 8726",
        "one two three four five six seven eight",
        "route six one c at five four two",
        "order number four one two five five five oh one three two",
        "look at amazon dot com",
        "the number one two three street",
        "at 12:30 or 12:30:45",
        "id:123456",
        "id:4155550132",
        "rev:4155550132",
        "order:415-555-0132",
        "10:11:12:4155550132",
        "lodash%404.17.21 is 20%40 off",
    ],
)
def test_what_is_none(text: str):
    assert found(text) == []


def test_the_name_of_a_slot_or_key_says_what_a_bare_value_is():
    assert found("4155550132") == []
    assert found("4155550132", "contact_phoneNumber2") == [("4155550132", "PHONE_NUMBER")]
    assert found("22 baker street", "homeAddress") == [("22 baker street", "STREET_ADDRESS")]
    assert found("536228726", "ssn") == [("536228726", "US_SSN")]


def test_numbers_in_a_log_prefix_are_no_names_and_thresholds_go_by_type():
    """Hard input 6: digits in a log's prefix were taken for a person; each type has its own threshold."""
    prefix = "2026-03-01 10:11:12,123 INFO [pool-4-thread-17] 0x7f3a9c id=8842017351 rev 1.2.3.4 took 1534 ms: "
    assert found(prefix + "play jazz") == []
    assert found(prefix + f"mail {MAIL}") == [(MAIL, "EMAIL_ADDRESS")]
    bold = Finder(PrivacyOptions(ip=0.3, phone=0.3))
    assert found("rev 1.2.3.4", finder=bold) == [("1.2.3.4", "IP_ADDRESS")]
    assert found("it is 4155550132", finder=bold) == [("4155550132", "PHONE_NUMBER")]
    assert found(f"{MAIL} {CARD}", finder=Finder(PrivacyOptions(email=2.0))) == [(CARD, "CREDIT_CARD")]


def test_marks_of_a_platform_are_left_and_never_split():
    text = "{user_name}@example.org {{ mail }} [NAME] <PHONE> 415-555-0132 <b> [laughter] {}"
    assert [text[a:b] for a, b in marks.spans(text)] == ["{user_name}", "{{ mail }}", "[NAME]", "<PHONE>"]
    assert found(text) == [("415-555-0132", "PHONE_NUMBER")]
    assert marks.outside(0, 10, [(2, 4), (6, 12)]) == [(0, 2), (4, 6)]


@pytest.mark.parametrize(
    ("text", "value", "type"),
    [
        (f"[CC {CARD}]", CARD, "CREDIT_CARD"),
        ("<TEL 415-555-0132>", "415-555-0132", "PHONE_NUMBER"),
        ("[CALLER 4155550132]", "4155550132", "PHONE_NUMBER"),
        ("{tel.415-555-0132}", "415-555-0132", "PHONE_NUMBER"),
        ("[PHONE_4155550132]", "4155550132", "PHONE_NUMBER"),
        ("[IBAN DE89370400440532013000]", "DE89370400440532013000", "IBAN_CODE"),
        ("{{ DE89370400440532013000 }}", "DE89370400440532013000", "IBAN_CODE"),
        ("[SSN 536-22-8726]", "536-22-8726", "US_SSN"),
        ("[LIVES AT 12 MAPLE STREET]", "12 MAPLE STREET", "STREET_ADDRESS"),
        ("[CALL FOUR ONE TWO FIVE FIVE FIVE OH ONE]", "FOUR ONE TWO FIVE FIVE FIVE OH ONE", "PHONE_NUMBER"),
    ],
)
def test_what_has_a_marks_form_and_holds_a_value_is_no_mark(text: str, value: str, type: str):
    assert len(marks.spans(text)) == 1
    assert found(f"{{full_name}} {text} [PHONE_1]") == [(value, type)]


@pytest.mark.parametrize(
    "text",
    [
        "{full_name}",
        "[PHONE_1]",
        "<EMAIL ADDRESS>",
        "[ADDRESS LINE 2]",
        "[NAME_8842017351]",
        "[ORDER 114-3941689-8772232]",
        "[CARD 4111-1111-1111-1112]",
    ],
)
def test_a_mark_that_holds_no_value_stays(text: str):
    assert found(f"{text} and 415-555-0132") == [("415-555-0132", "PHONE_NUMBER")]


def test_a_plug_is_not_shown_what_a_mark_is_made_of_but_what_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules[__name__], "names", names)
    finder = Finder(PrivacyOptions(recogniser=f"{__name__}:names"))
    assert found("{Anna} called", finder=finder) == []
    assert found("{Anna_DE89370400440532013000}", finder=finder)[0] == ("Anna", "PERSON")


@pytest.mark.parametrize("value", ["+14155550132", "+1 415 555 0132", "415-555-0132", "(415) 555-0132", "4155550132"])
@pytest.mark.parametrize("label", ["tel:", "WhatsApp:", "Phone:", "phone:", "tel.", "mobile-"])
def test_a_phone_number_right_after_its_label(label: str, value: str):
    assert found(f"x {label}{value}, ok") == [(value, "PHONE_NUMBER")]
    assert found(f"{label}{value}", "number") == [(value, "PHONE_NUMBER")]


@pytest.mark.parametrize("at", ["＠", "%40"])
def test_an_at_in_full_width_and_in_a_url(at: str):
    assert found(f"a@b {MAIL.replace('@', at)}, ok") == [(MAIL.replace("@", at), "EMAIL_ADDRESS")]
    both = f"to{at}x.com {MAIL}"
    assert found(both) == [(f"to{at}x.com", "EMAIL_ADDRESS"), (MAIL, "EMAIL_ADDRESS")]
    import pyarrow as pa

    assert screen.likely(pa.array([f"bob{at}x.com"]))[0] and len(screen.candidates(pa.array([f"bob{at}x.com"])))
    if at == "%40":
        assert found("/q?to=bob%40x.com&a=1") == [("bob%40x.com", "EMAIL_ADDRESS")]
        assert found("u%3Fto%3Dbob%2Bnews%40x.com") == [("bob%2Bnews%40x.com", "EMAIL_ADDRESS")]


def test_findings_that_overlap_become_one_that_covers_them():
    a, b, c = Finding(0, 5, "A", 0.5), Finding(3, 9, "B", 0.9), Finding(9, 12, "C", 0.4)
    assert merged([c, b, a]) == [Finding(0, 9, "B", 0.9), c]
    assert merged([Finding(0, 3, "B", 0.5), Finding(0, 3, "A", 0.5)]) == [Finding(0, 3, "A", 0.5)]


def test_the_quick_look_passes_over_nothing_that_a_recogniser_finds():
    import pyarrow as pa

    texts = pa.array([f"x {value} y" for value in VALUES])
    assert screen.candidates(texts).tolist() == list(range(len(VALUES)))
    assert screen.likely(texts).all()
    assert [type in screen.types_of(f"x {value} y") for value, type in VALUES.items()] == [True] * len(VALUES)


def test_a_long_text_without_spaces_takes_no_time():
    assert found("a" * 200_000 + "@") == []
    assert found("x" * 5_000 + "@example.org")[0][0].endswith("@example.org")


def test_nothing_calls_out_and_nothing_is_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The list of public suffixes is the one that ships; a process of its own, as modules look for it when imported."""
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from pipeline.privacy import PrivacyOptions\n"
        "from pipeline.privacy.find import Finder\n"
        f"text = {' ; '.join(VALUES)!r}\n"
        "print(sorted(f.type for f in Finder(PrivacyOptions()).find(text)))\n"
    )
    env = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c"), "PATH": "/usr/bin"}
    env["TLDEXTRACT_CACHE"] = str(tmp_path / "t")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(sorted(VALUES.values()))
    assert done.stderr == "" and list(tmp_path.rglob("*.json")) == []
    # In this process the recognisers are made again, with every way out shut.
    from pipeline.privacy import recognisers

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    assert [f.score for f in recognisers.emails()(f"to {MAIL}", "")] == [1.0]


def names(texts: list[str]) -> list[list[tuple[int, int, str, float]]]:
    return [[(m, m + 4, "PERSON", 0.9)] if (m := text.find("Anna")) >= 0 else [] for text in texts]


def test_a_recogniser_of_ones_own_stands_beside_the_patterns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules[__name__], "names", names)
    finder = Finder(PrivacyOptions(recogniser=f"{__name__}:names"))
    assert found(f"Anna at {MAIL}", finder=finder) == [("Anna", "PERSON"), (MAIL, "EMAIL_ADDRESS")]
    strict = Finder(PrivacyOptions(recogniser=f"{__name__}:names", recogniser_score=0.95))
    assert found("Anna", finder=strict) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nonsense", "module:callable is wanted"),
        ("no_such_module_here:f", "cannot be imported"),
        ("json:no_such", "cannot be imported"),
        ("json:__doc__", "a callable is wanted"),
    ],
)
def test_a_plug_that_is_none(name: str, says: str):
    with pytest.raises(ConfigError, match=says):
        Finder(PrivacyOptions(recogniser=name))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([], "1 texts were given, 0 answered"),
        ([[(0, 9, "PERSON", 0.5)]], "a span 0 to 9 of a text of 5"),
        ([[(2, 2, "PERSON", 0.5)]], "a span 2 to 2"),
        ([[(0, 2.0, "PERSON", 0.5)]], "a span"),
        ([[(0, 2, "person", 0.5)]], "the type 'person'"),
        ([[(0, 2, "PERSON", 2)]], "the score 2"),
        ([[(0, 2, "PERSON", float("nan"))]], "the score nan"),
        ([[(0, 2)]], "no span"),
        ([[7]], "no span"),
    ],
)
def test_wrong_spans_of_a_plug(answer: list, says: str):
    with pytest.raises(ConfigError, match=says):
        plug.findings(lambda texts: answer, "m:f", ["hello"])


def test_a_plug_that_fails_is_told_without_the_text():
    def fails(texts: list[str]) -> list:
        raise ValueError(texts[0])

    with pytest.raises(ConfigError, match="failed on 1 text") as error:
        plug.findings(fails, "m:f", ["my secret"])
    assert "secret" not in str(error.value)
