"""Days that are run in another order than they came in: refused, or told."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from days import DAY, MIDNIGHT, Days, Ran
from synthetic import record

from pipeline import intervals
from pipeline.config import load
from pipeline.errors import StageError
from pipeline.jobs.context import Context
from pipeline.jobs.tail import mind_parent, tell_followers
from pipeline.progress import Progress
from pipeline.workspace import Workspace

FIRST, SECOND = (MIDNIGHT, MIDNIGHT + DAY), (MIDNIGHT + DAY, MIDNIGHT + 2 * DAY)
EARLY = [
    record(turn_id="a", event_time="2026-03-01T12:00:00Z"),
    record(turn_id="open", user_id="v", event_time="2026-03-01T23:59:00Z"),
]
LATER = [record(turn_id="b", event_time="2026-03-02T12:00:00Z")]


def context(days: Days) -> Context:
    return Context(Workspace(str(days.out)), load(None, []), progress=Progress(io.StringIO()))


def manifest(ran: Ran) -> dict:
    return json.loads((ran.release / "manifest.json").read_text())


def put(ran: Ran, **identity: object) -> None:
    """Give the release of a day an identity that says what it took over."""
    told = manifest(ran)
    told["identity"] |= identity
    (ran.release / "manifest.json").write_text(json.dumps(told))


def test_a_day_that_was_read_before_the_day_before_was_released_is_read_again(tmp_path: Path):
    days = Days(tmp_path)
    days.run(LATER, *SECOND)
    mind_parent(context(days), None)
    first = Days(tmp_path / "first")
    first.folder.mkdir()
    name = first.run(EARLY, *FIRST).release.name
    with pytest.raises(StageError, match="was made since stage ingest looked"):
        mind_parent(context(days), name)


def test_a_day_whose_day_before_was_released_anew_is_read_again(tmp_path: Path):
    days = Days(tmp_path)
    first = days.run(EARLY, *FIRST)
    days.run(LATER, *SECOND)
    mind_parent(context(days), first.release.name)
    with pytest.raises(StageError, match="was made anew since stage ingest looked"):
        mind_parent(context(days), "another")
    # Gone, as after a user was forgotten: what came of it is without the user by now.
    (first.release / "manifest.json").unlink()
    mind_parent(context(days), "another")


def test_a_day_that_comes_after_its_next_one_says_so_and_is_kept_until_that_is_run_again(tmp_path: Path):
    days = Days(tmp_path)
    later = days.run(LATER, *SECOND)
    put(later, taken={"release": None, "files": []})
    first = days.run(EARLY, *FIRST)
    told = context(days)
    tell_followers(told, manifest(first))
    said = told.progress.stream.getvalue()
    assert "1 turn(s) of open sessions are left" in said and later.release.name[:12] in said and "run it again" in said
    assert intervals.waiting(str(days.out)) == [first.release.name]
    put(later, taken={"release": first.release.name, "files": []})
    told = context(days)
    tell_followers(told, manifest(first))
    assert told.progress.stream.getvalue() == "" and intervals.waiting(str(days.out)) == []


def test_what_a_later_run_gave_up_is_waited_for_no_more(tmp_path: Path):
    days = Days(tmp_path)
    days.run(EARLY, *FIRST)
    later = days.run(LATER, *SECOND, "ingest.take_over=false")
    put(later, taken={"release": None, "files": []})
    assert intervals.waiting(str(days.out)) == []
