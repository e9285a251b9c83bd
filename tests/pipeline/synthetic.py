"""A made-up canonical log in which wrong readings are followed by a repair, and the command run in this process."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline import storage
from pipeline.cli import main
from pipeline.options import CurateOptions
from pipeline.stages import STAGES
from pipeline.transforms.voters import in_test
from pipeline.transforms.write import bucket_path
from pipeline.workspace import Workspace
from schemas import Record

CITIES = tuple(
    [
        "rome",
        "oslo",
        "lima",
        "cairo",
        "delhi",
        "quito",
        "tunis",
        "sofia",
        "paris",
        "dakar",
        "hanoi",
        "miami",
        "accra",
        "minsk",
        "seoul",
        "turin",
        "lagos",
        "rabat",
    ]
)
ASKS = (
    "go to {}",
    "is {} far from here",
    "how will the weather in {} be",
    "book me a room at {} tonight",
    "who is the mayor of {}",
    "{} news",
    "show the old town of {} on a map",
    "call a friend in {}",
)
# Every turn votes, so that what a release holds does not hang on how well the models do on a made-up log.
SETTINGS = ("--format", "canonical", "--set", "curate.confirm_below=1.0", "--set", "train.folds=2")
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def afterword(*arguments: object) -> int:
    """Run the command; gives its exit code, as a shell would see it."""
    try:
        return main([str(a) for a in arguments])
    except SystemExit as exit:
        return int(exit.code or 0)


def record(**fields: Any) -> dict[str, Any]:
    """One record that can be read."""
    return {"turn_id": "t", "user_id": "u", "event_time": "2026-03-01T09:30:00Z", "utterance": "hello"} | fields


def lines(*records: Any) -> bytes:
    """Records as lines of JSON."""
    return b"".join(json.dumps(r).encode() + b"\n" for r in records)


def records(users: int = 240, seed: int = 7) -> list[dict[str, Any]]:
    """Each user asks for three cities and is asked whether they were understood: one best reading in twelve is wrong.
    Some words only users of the test split say.
    """
    draw = random.Random(seed)
    out: list[dict[str, Any]] = []
    test = test_users(users)
    for user in range(users):
        at = START + timedelta(hours=user)
        sequence = 0
        for _ in range(3):
            meant, other = draw.sample(CITIES, 2)
            wrong = draw.random() < 0.08
            ask = draw.choice(ASKS).format(meant) if user not in test else f"please bring me to {meant}"
            score = round(draw.uniform(0.2, 0.6) if wrong else draw.uniform(0.6, 0.95), 4)
            city = other if wrong else meant
            readings = [_reading("go", city, score), _reading("go", meant if wrong else other, round(score / 2, 4))]
            answer = "no that is wrong" if wrong else "yes"
            for text, heard, response in (
                (ask, readings, f"{city} is that right"),
                (answer, [_reading("negate" if wrong else "affirm", None, 0.95)], "all right"),
            ):
                out.append(
                    {
                        "turn_id": f"u{user:03d}-{sequence}",
                        "user_id": f"u{user:03d}",
                        "conversation_id": f"c{user:03d}",
                        "sequence": sequence,
                        "event_time": (at + timedelta(seconds=15 * sequence)).isoformat(),
                        "utterance": text,
                        "interpretations": heard,
                        "executed": 0,
                        "response": response,
                        "locale": "en",
                        "policy": "p1",
                        "consent": user % 40 != 0,
                    }
                )
                sequence += 1
    # What else a log holds: a reading without intent, none at all, one of nulls, and an unknown field.
    odd = [[{"domain": "d"}], [], None, [{}], [{"domain": "d", "intent": "x", "slots": [{}], "score": None}]]
    for k, readings in enumerate(odd):
        out.append(
            record(
                turn_id=f"odd{k}",
                user_id=f"odd{k}",
                utterance=f"odd {k}",
                interpretations=readings,
                executed=0 if readings else None,
                app_build=k,
            )
        )
    return out


def test_users(users: int) -> set[int]:
    """Users who fall into the test split by default."""
    names = np.array([f"u{k:03d}" for k in range(users)], dtype=object)
    return set(np.flatnonzero(in_test(names, CurateOptions().test_share)).tolist())


test_users.__test__ = False  # type: ignore[attr-defined]


def _reading(intent: str, city: str | None, score: float) -> dict[str, Any]:
    slots = [{"name": "city", "value": city}] if city else []
    return {"domain": "travel", "intent": intent, "slots": slots, "score": score}


BAD = (
    b"{bad\n",
    b"[1]\n",
    *(
        lines(r)
        for r in (
            record(user_id=None),
            record(event_time=None),
            record(event_time="soon"),
            record(event_time="2026-03-01T09:30:00"),
            record(utterance=" "),
            record(sequence="first"),
            record(interpretations=[None]),
        )
    ),
)


def write_log(folder: Path, users: int = 240) -> Path:
    """The log as two files; the second is packed and holds one record for each thing that can be wrong with one."""
    rows = records(users)
    half = len(rows) // 2
    (folder / "day").mkdir()
    (folder / "day" / "a.jsonl").write_bytes(lines(*rows[:half]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(*rows[half:]) + b"".join(BAD), mtime=0))
    (folder / "notes.txt").write_text("not a log")
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its relative path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def swap(out: Path, stage: str, name: str, change: Callable[[pa.Table], pa.Table], record: Record) -> None:
    """Change a table (its first bucket) as if its stage had made it so; the stages after it stay as they are."""
    space = Workspace(str(out))
    path = bucket_path(space.table(stage, name), space.buckets(stage, name)[0])
    storage.write_record(path, change(storage.read_table(path, record.schema)), record)
    for each in STAGES[STAGES.index(stage) : -1]:
        space.finish(each, space.facts(each))


def copy(out: Path, to: Path) -> Path:
    """A copy of an output folder that a test may spoil."""
    shutil.copytree(out, to)
    return to
