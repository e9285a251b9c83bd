"""What a run takes over of the release before: by value, and when it refuses to begin."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from days import DAY, MIDNIGHT, Days, tail
from synthetic import record

from pipeline.config import load
from pipeline.errors import ConfigError, StageError, VerifyError
from pipeline.filters.tombstones import tombstone_files

FIRST, SECOND = (MIDNIGHT, MIDNIGHT + DAY), (MIDNIGHT + DAY, MIDNIGHT + 2 * DAY)
READING = [{"domain": "media", "intent": "play", "slots": [], "score": 0.9}]


def said(turn_id: str, seconds: float, user: str = "u", **fields: Any) -> dict[str, Any]:
    """A turn so many seconds from the first midnight between the two days."""
    at = SECOND[0] + timedelta(seconds=seconds)
    return record(turn_id=turn_id, user_id=user, event_time=at.isoformat(), **fields)


def test_a_session_over_midnight_goes_whole_to_the_day_it_ends_in(tmp_path: Path):
    days = Days(tmp_path)
    first = days.run([said("a", -500), said("b", -200), said("c", -900, "v")], *FIRST)
    assert set(first.turns) == {"c"} and [r["turn_id"] for r in tail(first, "open")] == ["a", "b"]
    assert [r["judged_by"] for r in tail(first, "open") + tail(first, "recent")] == [None] * 3
    second = days.run([said("d", 100)], *SECOND)
    assert set(second.turns) == {"a", "b", "d"} and {r["session_id"] for r in second.signals.values()} == {"a"}
    closing = {"in": 4, "kept": 3, "judged_before": 1}
    assert {k: second.counts[k] for k in closing} == closing
    assert [r["turn_id"] for r in tail(second, "recent")] == ["a", "b", "d"]


def test_the_release_that_judged_a_session_is_told_as_long_as_it_is_kept(tmp_path: Path):
    days = Days(tmp_path, (f"ingest.lateness={3 * 86_400}",))
    first = days.run([said("a", -50_000)], *FIRST)
    second = days.run([said("x", 50_000, "v")], *SECOND)
    held = {r["turn_id"]: r["judged_by"] for r in tail(second, "recent")}
    assert held == {"a": first.release.name, "x": None}
    third = days.run([said("late", -49_900), said("y", 90_000, "v")], SECOND[1], SECOND[1] + DAY)
    assert set(third.turns) == {"a", "late", "y"} and third.counts["late"] == 1
    assert third.counts[f"revised.{first.release.name}"] == third.counts["revised"] == 1
    assert {r["turn_id"]: r["judged_by"] for r in tail(third, "recent")} == {
        "a": None,
        "late": None,
        "x": second.release.name,
        "y": None,
    }


def test_a_late_turn_whose_session_is_kept_no_more_is_judged_alone_and_told(tmp_path: Path):
    days = Days(tmp_path, ("ingest.lateness=600",))
    days.run([said("a", -5_000)], *FIRST)
    second = days.run([said("late", -4_900), said("x", 5_000, "v")], *SECOND)
    assert second.counts["late_alone"] == 1 and "revised" not in second.counts
    assert "1 of them found nothing of their session" in second.said


def test_a_later_record_of_a_turn_that_was_handed_on_takes_its_place(tmp_path: Path):
    days = Days(tmp_path)
    days.run([said("a", -5_000, utterance="frst"), said("b", -4_900), said("c", -5_000, "v"), said("o", -10)], *FIRST)
    # The same file name and line in both days: what is read later counts as later.
    second = days.run([said("a", -5_000, utterance="first"), said("c", -20_000, "v"), said("o", -10, "w")], *SECOND)
    assert second.turns["a"]["utterance"] == "first" and set(second.turns) == {"a", "b", "c", "o"}
    assert second.turns["o"]["user_id"] == "w" and second.counts["superseded"] == 3
    assert second.counts["revised"] == 3 and second.counts["revised_sessions"] == 2


def test_a_record_that_comes_once_more_as_it_was_leaves_its_session_as_it_was_judged(tmp_path: Path):
    days = Days(tmp_path)
    heard = {"interpretations": READING, "executed": 0, "asr": [{"text": "play", "confidence": 0.5}]}
    rows = [said("a", -5_000, **heard), said("b", -4_900, received_time="2026-03-01T23:59:59Z"), said("c", -9_000, "v")]
    days.run(rows, *FIRST)
    again = [rows[0], rows[1] | {"received_time": "2026-03-02T00:00:59Z"}, rows[2] | {"response": "all right"}]
    second = days.run([*again, said("x", 900, "w")], *SECOND)
    assert set(second.turns) == {"c", "x"} and second.turns["c"]["response"] == "all right"
    assert (second.counts["superseded"], second.counts["judged_before"], second.counts["revised_sessions"]) == (3, 2, 1)


def test_labels_go_with_their_turns(tmp_path: Path):
    label = {"definition": "dissatisfied", "value": 1.0, "source": "people"}
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(label | {"turn_id": name}) + "\n" for name in ("open", "old", "none")))
    days = Days(tmp_path)
    first = days.run([said("open", -10), said("old", -5_000), said("x", -90_000)], *FIRST, gold=str(gold))
    # A turn that waits for the next run is in the log.
    assert "gold: 1 of 3 label(s) are of turns that are not in the log" in first.said
    assert [r["turn_id"] for r in tail(first, "labels")] == ["old", "open"]
    rest = [said("y", 40_000, "v"), said("more", 20)]
    second = days.run(rest, *SECOND)
    assert [r["turn_id"] for r in tail(second, "labels")] == ["open"]
    # A label that is read now takes the place of one that was handed on.
    gold.write_text(json.dumps(label | {"turn_id": "open", "value": 0.0}) + "\n")
    again = days.run(rest, *SECOND, gold=str(gold))
    assert [r["value"] for r in tail(again, "labels")] == [0.0]


def test_who_is_forgotten_or_opted_out_since_is_not_taken_over(tmp_path: Path):
    days = Days(tmp_path)
    days.run([said("a", -10, "gone"), said("b", -10, "out"), said("c", -10, "stays"), said("d", -900)], *FIRST)
    tombstone_files(str(days.out), None).add(["gone"])
    (tmp_path / "out.txt").write_text("out\n")
    second = days.run([said("x", 900, "v")], *SECOND, f"filters.opt_out={tmp_path / 'out.txt'}")
    assert set(second.turns) == {"c", "x"}
    assert (second.counts["forgotten"], second.counts["opted_out"], second.counts["in"]) == (1, 1, 5)


def test_labels_of_interpretations_get_the_names_of_now(tmp_path: Path):
    days = Days(tmp_path)
    read = {"interpretations": READING, "executed": 0}
    days.run([said("a", -10, **read), said("x", -9_000, "v")], *FIRST)
    ontology = tmp_path / "ontology.toml"
    ontology.write_text('[domains.music.intents]\nplay = []\n[[renamed]]\ndomain = "media"\nto = "music"\n')
    second = days.run([said("b", 900, **read)], *SECOND, f"ontology.file={ontology}")
    assert {t["interpretations"][0]["domain"] for t in second.turns.values()} == {"music"}


def test_an_interval_is_wanted():
    with pytest.raises(ConfigError, match=r"release\.interval_start and release\.interval_end are wanted"):
        load(None, ["ingest.incremental=true"])


def test_a_release_that_hands_nothing_on_is_not_followed_unless_a_row_begins_here(tmp_path: Path):
    days = Days(tmp_path)
    days.run([said("a", -10)], *FIRST, incremental=False)
    with pytest.raises(StageError, match=r"made without ingest\.incremental"):
        days.run([said("b", 10)], *SECOND)
    began = days.run([said("b", 10)], *SECOND, "ingest.take_over=false")
    assert set(began.turns) == {"b"} and "taken over from no release" in began.said


def test_open_sessions_are_not_left_behind_by_a_run_that_would_not_read_them(tmp_path: Path):
    days = Days(tmp_path)
    days.run([said("a", -10), said("x", -9_000)], *FIRST)
    with pytest.raises(StageError, match=r"left 1 turn\(s\) of open sessions to this run"):
        days.run([said("b", 10)], *SECOND, incremental=False)
    # An interval is missing.
    third = (SECOND[1], SECOND[1] + DAY)
    with pytest.raises(StageError, match=r"no release ends at 2026-03-03T00:00:00\+00:00"):
        days.run([said("b", 90_000)], *third)
    given_up = days.run([said("b", 90_000)], *third, "ingest.take_over=false")
    assert set(given_up.turns) == {"b"}
    # No log of the second day: one run over both.
    both = Days(tmp_path / "other")
    both.folder.mkdir()
    both.run([said("a", -10), said("x", -9_000)], *FIRST)
    assert set(both.run([said("b", 90_000)], SECOND[0], third[1]).turns) == {"a", "b"}


def test_a_tail_that_was_changed_is_refused_and_says_what_to_do(tmp_path: Path):
    days = Days(tmp_path)
    first = days.run([said("a", -10), said("x", -9_000)], *FIRST)
    path = next(first.release.glob("tail/open-*"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(VerifyError, match="run its interval again"):
        days.run([said("b", 10)], *SECOND)
    told = json.loads((first.release / "manifest.json").read_text())
    told["files"][f"tail/{path.name}"]["schema"] = "0"
    (first.release / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(StageError, match="of another schema than this code's"):
        days.run([said("b", 10)], *SECOND)
