from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from build import turns

from bench.agree import differences
from features.signals import signals
from features.timeline import sort
from pipeline.readers.canonical import CanonicalReader
from pipeline.transforms.check import check
from tests.pipeline.synthetic import lines, records

reference = pytest.importorskip("bench.reference_polars", reason="polars is not installed")


def by_hand(table: pa.Table, folder: Path) -> pa.Table:
    pq.write_table(table, folder / "bucket-00000.parquet")
    held = reference.pl.scan_parquet(folder / "bucket-*.parquet")
    reference.signals(held, reference.common.lexicons()).write_parquet(folder / "out.parquet")
    return pq.read_table(folder / "out.parquet")


def slot(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value, "start": None, "end": None} for name, value in pairs]


def reading(intent: str, score: float | None, *pairs: tuple[str, str]) -> dict[str, Any]:
    return {"domain": "d", "intent": intent, "slots": slot(*pairs), "score": score}


def test_it_says_what_the_product_says(tmp_path: Path):
    log = next(iter(CanonicalReader().read(io.BytesIO(lines(*records(60))), "a"))).turns
    table = sort(check(log, None)[0])
    assert differences(signals(table), by_hand(table, tmp_path)) == []


def test_it_says_so_of_odd_turns_too(tmp_path: Path):
    two = [
        reading("go", 0.5, ("to", "New York"), ("from", "Oslo")),
        reading("go", 0.5, ("from", "oslo"), ("to", "new york")),
    ]
    kin = [reading("go", 0.4, ("to", "york")), reading("go", None, ("to", "new york")), reading("no", 0.0)]
    rows = turns(
        {
            "turn_id": "a",
            "utterance": "!?",
            "interpretations": two,
            "response": "To New York? From Oslo, is that right?",
        },
        {"turn_id": "b", "at": 60.0, "utterance": "...", "interpretations": kin, "prompt": "I'm sorry. Where to?"},
        {"turn_id": "c", "at": 420.0, "utterance": "São Paulo", "interpretations": [reading("deny", 0.1)], "asr": []},
        {
            "turn_id": "d",
            "at": 421.0,
            "utterance": "sao paulo",
            "conversation_id": "other",
            "sequence": 9,
            "response": "",
        },
        {"turn_id": "e", "at": 1000.0, "subject_id": "v", "utterance": "yes", "barge_in": True, "outcome": "error"},
    )
    assert differences(signals(sort(rows)), by_hand(sort(rows), tmp_path)) == []


def test_it_says_so_of_remarks_outcomes_and_readings_of_rephrases(tmp_path: Path):
    york, bath = reading("go", 0.6, ("to", "york")), reading("go", 0.5, ("to", "bath"))
    ely = reading("go", 0.7, ("to", "ely"))
    said: list[tuple[str, list[dict[str, Any]], str | None, str | None]] = [
        ("go to york", [bath, york], "Sorry, I did not understand.", None),
        ("go to yorke", [york], "Which one?", "answered"),
        ("no I meant ely", [ely, york], None, "clarify"),
        ("go to ely", [ely], "Did you mean Ely?", None),
        ("no I meant ely", [reading("Cancel", 0.9)], "Where to?", "fallback"),
        ("no I meant ely", [], "I will connect you to an agent.", None),
        ("go to ely please", [york], "Ely it is.", None),
        ("thanks bye", [reading("affirm", 0.9)], "Ely, is that right?", None),
        ("go to ely please", [reading("goodbye", None)], "Which one?", "handoff"),
        ("thank you", [reading("thank", 0.2)], "Where to? Where to?", "answered"),
    ]
    rows = [
        {"turn_id": f"{k:02d}", "at": 15.0 * k, "utterance": text, "interpretations": nbest, "response": answer}
        | {"outcome": outcome}
        for k, (text, nbest, answer, outcome) in enumerate(said)
    ]
    # Each is the end of a session too, so that what is null there, or abandoned, differs.
    rows += [row | {"turn_id": "e" + row["turn_id"], "subject_id": f"e{k}"} for k, row in enumerate(rows)]
    table = sort(turns(*rows))
    expected = signals(table)
    offsets = [entry["offset"] for each in expected["candidates"].to_pylist() for entry in each]
    assert {1, 2, 3} <= set(offsets)
    assert {True, False} == set(expected["abandoned"].to_pylist())
    assert differences(expected, by_hand(table, tmp_path)) == []


def test_it_says_so_of_chat_tools_and_languages(tmp_path: Path):
    def call(tool: str, *pairs: tuple[str, str]) -> list[dict[str, Any]]:
        return [{"domain": "tool", "intent": tool, "slots": slot(*pairs), "score": None}]

    book, again = call("book", ("day", "Friday"), ("to", "Ely")), call("book", ("day", "friday"), ("to", "York"))
    twice = call("drop", ("to", "Ely"), ("to", "York"), ("day", "Friday"))
    said: list[tuple[str, str | None, list[dict[str, Any]], str | None, str | None]] = [
        ("how do I sort a list by its length", None, [], "Use sorted().", "answered"),
        ("how do I sort a list by its length", "en-GB", [], "Use list.sort().", "answered"),
        ("how do I sort the list by its length", None, [], "Use list.sort().", None),
        ("Traceback (most recent call last): KeyError: 'x'", None, [], None, None),
        ("that is wrong and not very good, really bad", "en", [], "Sorry.", None),
        ("book it", None, book, "An error occurred.", "answered"),
        ("book it please", None, again, "Fehler beim Buchen", "error"),
        ("book it please", "de", again, "Fehler beim Buchen", None),
        ("Das stimmt überhaupt nicht, das ist Blödsinn und nicht schön", "de_AT", twice, "Meinten Sie Köln?", None),
        ("Nein, nicht Köln sondern Straßburg", "DE", book, "Welche Straße genau?", "clarify"),
        ("Nein", "de", [], "Tut mir leid, das kann ich leider nicht.", None),
        ("Wunderbar, vielen Dank", "de", again, "Welche Straße genau? Köln?", None),
        ("non merci", "fr", book, "Wohin möchten Sie?", None),
    ]
    rows = [
        {"turn_id": f"{k:02d}", "at": 15.0 * k, "utterance": text, "locale": locale, "interpretations": nbest}
        | {"response": answer, "outcome": outcome}
        for k, (text, locale, nbest, answer, outcome) in enumerate(said)
    ]
    rows += [row | {"turn_id": "e" + row["turn_id"], "at": 70.0 * k, "subject_id": "e"} for k, row in enumerate(rows)]
    table = sort(turns(*rows))
    expected = signals(table)
    for name in ("regenerated", "edited_next", "pastes_error", "tool_failed", "tool_retried", "partial_rephrase"):
        assert {True, False} <= set(expected[name].to_pylist()), name
    assert differences(expected, by_hand(table, tmp_path)) == []


def test_a_changed_value_a_lost_null_and_a_merged_hash_are_differences():
    rows = [
        {"turn_id": str(k), "at": 9.0 * k, "utterance": "hello", "interpretations": [reading(str(k), 0.5)]}
        for k in (0, 1)
    ]
    table = signals(turns(*rows))
    assert differences(table, table) == []

    def found(name: str, values: list[Any]) -> list[str]:
        changed = table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))
        return [text.split(":")[0] for text in differences(table, changed)]

    assert found("gap_after", [9.1, None]) == ["gap_after"] == found("gap_after", [9.0, 0.0])
    entries = table["candidates"].to_pylist()
    assert found("candidates", [[e | {"candidate_id": 7} for e in each] for each in entries]) == [
        "candidates.candidate_id"
    ]
    assert found("candidates", [[e | {"candidate_id": -e["candidate_id"]} for e in each] for each in entries]) == []
