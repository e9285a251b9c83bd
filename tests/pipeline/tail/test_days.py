"""A log run day by day concludes of its sessions what one run over all of it does."""

from __future__ import annotations

import io
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet  # noqa: F401 - pa.parquet
import pytest
from days import DAY, MIDNIGHT, Days, closed, tail
from synthetic import record

from pipeline.config import load
from pipeline.jobs import ingest
from pipeline.jobs.context import Context
from pipeline.progress import Progress
from pipeline.workspace import Workspace
from schemas import DERIVED, TURN

END = MIDNIGHT + 3 * DAY


def made_up(seed: int) -> list[tuple[int, dict[str, Any]]]:
    """Turns of three days with the day in whose log each comes: many near midnight, one in six late, some twice."""
    draw = random.Random(seed)
    out: list[tuple[int, dict[str, Any]]] = []
    for user in range(30):
        at = MIDNIGHT + timedelta(seconds=draw.randrange(3_600))
        sequence = 0
        while at < END:
            for _ in range(draw.randint(1, 6)):
                out.append((_delivered(draw, at), _turn(draw, user, sequence, at)))
                sequence += 1
                at += timedelta(seconds=draw.choice([5, 40, 299, 300, 301, 700]))
            midnight = datetime(at.year, at.month, at.day, tzinfo=at.tzinfo) + DAY
            near = midnight + timedelta(seconds=draw.randint(-700, 700))
            at = max(at, near) if draw.random() < 0.5 else at + timedelta(seconds=draw.randrange(301, 40_000))
    # Records that come once more a day later, some with other words, and some with another time.
    for day, row in draw.sample([(d, r) for d, r in out if d < 2 and r["event_time"] >= _midnight(d)], 30):
        more = {"utterance": "play that again"} if draw.random() < 0.5 else {}
        moved = datetime.fromisoformat(row["event_time"]) + timedelta(seconds=draw.choice([0, 0, 200, 4_000]))
        out.append((day + 1, row | more | {"event_time": moved.isoformat()}))
    return [(day, row) for day, row in out if row["event_time"] < END.isoformat()]


def _midnight(day: int) -> str:
    return (MIDNIGHT + day * DAY).isoformat()


def _delivered(draw: random.Random, at: datetime) -> int:
    """The log that a turn comes with: its own day's, or the next one's; what came first comes with the first."""
    day = min((at - MIDNIGHT) // DAY, 2)
    return min(day + (draw.random() < 1 / 6), 2)


def _turn(draw: random.Random, user: int, sequence: int, at: datetime) -> dict[str, Any]:
    said = draw.choice(["go to rome", "no that is wrong", "go to oslo", "yes", "play jazz", "stop"])
    reading = {"domain": "d", "intent": draw.choice(["go", "play", "negate"]), "slots": [], "score": 0.5}
    return record(
        turn_id=f"u{user}-{sequence}",
        user_id=f"u{user}",
        sequence=sequence,
        event_time=at.isoformat(),
        utterance=said,
        interpretations=[reading],
        executed=0,
        response="all right",
    )


def day_by_day(folder: Path, rows: list[tuple[int, dict[str, Any]]], *settings: str) -> Days:
    folder.mkdir()
    days = Days(folder, settings)
    for day in range(3):
        records = [row for delivered, row in rows if delivered == day]
        days.run(records, MIDNIGHT + day * DAY, MIDNIGHT + (day + 1) * DAY)
    return days


def at_once(folder: Path, rows: list[tuple[int, dict[str, Any]]], *settings: str) -> dict[str, dict[str, Any]]:
    folder.mkdir()
    ordered = [row for day in range(3) for delivered, row in rows if delivered == day]
    return Days(folder, settings).run(ordered, MIDNIGHT, END, incremental=False).signals


@pytest.mark.long
@pytest.mark.parametrize(("seed", "settings"), [(1, ()), (2, ("signals.session_cap=4", "shuffle.bucket_bytes=20000"))])
def test_days_one_by_one_give_the_signals_of_one_run_over_all(tmp_path: Path, seed: int, settings: tuple[str, ...]):
    rows = made_up(seed)
    days = day_by_day(tmp_path / "days", rows, *settings)
    whole = at_once(tmp_path / "whole", rows, *settings)
    left = {row["turn_id"] for row in tail(days.ran[-1], "open")}
    got, wanted = days.judged(), {name: row for name, row in whole.items() if name not in left}
    # What a full session at the end has is judged; without such cuts, open is what the gap leaves open.
    if not settings:
        assert wanted == closed(whole, END)
    assert len(wanted) > 300 and left
    assert {n: r for n, r in got.items() if n in wanted} == wanted and set(got) == set(wanted)
    # It had to: sessions over midnight, late turns that joined judged sessions, and others that came twice.
    counts = [ran.counts for ran in days.ran]
    assert all(c["left_open"] > 5 for c in counts)
    assert all(c["late"] > 20 and c["revised"] > 20 and c["judged_before"] > 20 for c in counts[1:])
    assert sum(c.get("superseded", 0) for c in counts) >= 25


@pytest.mark.long
def test_real_calls_cut_in_their_midst_give_the_signals_of_one_run_over_all(tmp_path: Path, letsgo: Path):
    context = Context(Workspace(str(tmp_path / "calls")), load(None, []), progress=Progress(io.StringIO()))
    ingest.run(context, str(letsgo), "dstc")
    turns = context.workspace.read("ingest", "turns", TURN).drop_columns(["source", *DERIVED]).sort_by("event_time")
    rows = [row | {"event_time": row["event_time"].isoformat()} for row in turns.to_pylist()]
    # Each cut stands within a call, between two of its turns.
    within = [k for k in range(1, len(rows)) if rows[k]["conversation_id"] == rows[k - 1]["conversation_id"]]
    cuts = [within[len(within) * part // 3] for part in (1, 2)]
    times = [datetime.fromisoformat(rows[k]["event_time"]) for k in (0, *cuts, len(rows) - 1)]
    times[-1] += timedelta(hours=1)
    draw = random.Random(3)
    days = Days(tmp_path, (f"ingest.lateness={10 * 365 * 86_400}",))
    held: list[list[dict[str, Any]]] = [[], [], []]
    for k, row in enumerate(rows):
        day = sum(k >= cut for cut in cuts)
        held[min(day + (draw.random() < 0.1), 2)].append(row)
    for day, records in enumerate(held):
        days.run(records, times[day], times[day + 1])
    (tmp_path / "whole").mkdir()
    whole = Days(tmp_path / "whole").run(rows, times[0], times[-1], incremental=False)
    assert days.judged() == whole.signals and len(whole.signals) > 4_000
    assert all(ran.counts["left_open"] > 0 for ran in days.ran[:2])
    assert all(ran.counts["revised_sessions"] > 50 for ran in days.ran[1:])
