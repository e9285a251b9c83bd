from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from golden_views import answer, context_turn, example
from leaver import current
from synthetic import SETTINGS, afterword, copy

from pipeline.lifecycle.compare import _compared, _examples, differing
from schemas import EXAMPLE


def changes(before: list[dict[str, Any]], after: list[dict[str, Any]], limit: int = 20) -> dict[str, Any]:
    frames = [_compared(pa.Table.from_pylist(rows, schema=EXAMPLE.schema)).to_pandas() for rows in (before, after)]
    return _examples(*frames, limit)


def test_every_change_of_an_example_is_told_once():
    before = [
        example("a", utterance="same"),
        example("b", utterance="gone", kind="confirmation"),
        example("c", utterance="Other Label"),
        example("d", utterance="moved"),
        example("e", utterance="more", support=2),
    ]
    after = [
        example("a", utterance="same"),
        example("f", utterance="new", domain="music"),
        example("g", utterance="other label", intent="stay"),
        example("h", utterance="moved", split="test", support=5),
        example("e", utterance="more", support=3),
    ]
    told = changes(before, after)
    assert told["rows"] == [5, 5] and told["unchanged"] == 1
    assert {k: told[k]["rows"] for k in ("added", "removed", "relabelled", "re_split", "support")} == {
        "added": 1,
        "removed": 1,
        "relabelled": 1,
        "re_split": 1,
        "support": 1,
    }
    assert told["added"]["by"] == [{"domain": "music", "kind": "correction", "rows": 1}]
    assert told["removed"]["by"] == [{"domain": "travel", "kind": "confirmation", "rows": 1}]
    assert told["support"]["listed"] == [{"example_id": "e", "utterance": "more", "support": [2, 3]}]
    label = told["relabelled"]["listed"][0]["label"]
    assert [json.loads(side)["intent"] for side in label] == ["go", "stay"]
    assert told["re_split"]["listed"][0]["split"] == ["train", "test"]


def test_the_same_words_in_another_locale_or_of_another_sort_are_others():
    before = [example("a"), example("r", kind="rejection", domain=None, intent=None)]
    after = [example("a", locale="de"), example("r", kind="rejection", domain=None, intent=None)]
    told = changes(before, after)
    assert (told["added"]["rows"], told["removed"]["rows"], told["unchanged"]) == (1, 1, 1)


def test_answers_are_told_apart_by_what_they_say_and_their_context():
    before = [
        answer("a", "hi", "hello", context=[context_turn("x", "y")]),
        answer("b", "hi", "hello", context=[context_turn("z", "y")]),
    ]
    told = changes(before, [before[1] | {"example_id": "0", "support": 9}])
    assert told["removed"]["listed"][0]["example_id"] == "a"
    assert told["support"]["listed"][0]["support"] == [before[1]["support"], 9]


def test_lists_are_capped_and_the_counts_are_not():
    told = changes([], [example(f"e{k}", utterance=f"w{k}") for k in range(9)], limit=2)
    assert told["added"]["rows"] == 9 and [r["example_id"] for r in told["added"]["listed"]] == ["e0", "e1"]


def test_nested_values_are_told_by_their_dotted_key():
    assert differing({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1, "c": 4}, "e": 5}) == {
        "a.c": [2, 4],
        "d": [3, None],
        "e": [None, 5],
    }


def test_two_releases_of_one_log(released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")
    first = current(out)
    assert afterword("run", "--from", "curate", *SETTINGS[2:], "--set", "curate.min_users=3", "--out", out) == 0
    capsys.readouterr()
    texts = []
    for _ in range(2):
        assert afterword("diff", first[:8], "CURRENT", "--out", out, "--limit", 2) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and "config      curate.min_users: 2 -> 3" in texts[0]
    assert afterword("diff", first, "CURRENT", "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["config"] == {"curate.min_users": [2, 3]} and told["a"] == first and told["b"] == current(out)
    assert told["inputs"] == {"added": [], "removed": [], "changed": []} and told["models"] == {}
    a, b = told["examples"]["rows"]
    assert a > b and told["examples"]["removed"]["rows"] == a - b and told["examples"]["unchanged"] == b
    rows = told["views"]
    assert sum(x - y for x, y in (rows[f"lineage.{s}"] for s in ("train", "test") if f"lineage.{s}" in rows)) == a - b
    assert all(e["support"] == 2 for e in told["examples"]["removed"]["listed"])
