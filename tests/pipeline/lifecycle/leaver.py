"""The synthetic log with a user who will ask to be forgotten, and a search of every byte of an output folder."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from synthetic import START, afterword, lines, records

from features.hashing import pseudonyms
from pipeline.options import CurateOptions
from pipeline.transforms.voters import in_test

SETTINGS = ("--format", "canonical", "--set", "curate.confirm_below=1.0", "--set", "train.folds=2")
LEAVER = "leaver-0077"
PSEUDONYM = str(pseudonyms(np.array([LEAVER], dtype=object))[0])
# Nobody else says this.
SECRET = "my purple pelican wears a hat"
# What the user says in a way of their own, more often than all others together.
SHOUTED, PLAIN = "play the HARBOUR song", "play the harbour song"
# One other user says it, too.
SHARED = "show me the blue lagoon"
# What the user says with one other, and what two others say so nearly alike that only one of the two is released.
KEPT, ALIKE = (f"please tell me all about the silver {w} by the river" for w in ("meadows", "meadow"))
TURNS = tuple(f"{LEAVER}-turn-{k}" for k in range(9))
MARKS = (LEAVER, PSEUDONYM, *TURNS, "pelican", "HARBOUR")


def _others() -> list[str]:
    """Users of the leaver's split."""
    names = np.array([LEAVER, *(f"other-{k}" for k in range(40))], dtype=object)
    test = in_test(names, CurateOptions().test_share)
    return [n for n, t in zip(names[1:].tolist(), test[1:].tolist(), strict=True) if t == test[0]][:3]


def _turn(user: str, turn_id: str, text: str, at: int, intent: str) -> dict[str, Any]:
    return {
        "turn_id": turn_id,
        "user_id": user,
        "conversation_id": f"talk-{user}",
        "sequence": at,
        "event_time": (START + timedelta(hours=500, seconds=1_000 * at)).isoformat(),
        "utterance": text,
        "interpretations": [{"domain": "travel", "intent": intent, "slots": [], "score": 0.9}],
        "executed": 0,
        "response": "all right",
        "locale": "en",
        "policy": "p1",
    }


def leaver_records() -> list[dict[str, Any]]:
    """Turns of the user, and of others who say some of the same."""
    said = [(SHOUTED, "song")] * 5 + [(SHARED, "lagoon"), (SECRET, "pelican"), (KEPT, "meadow"), ("yes", "affirm")]
    out = [_turn(LEAVER, TURNS[k], text, k, intent) for k, (text, intent) in enumerate(said)]
    first, second, third = _others()
    out += [_turn(first, "o1", PLAIN, 0, "song"), _turn(second, "o2", PLAIN, 0, "song")]
    out += [_turn(third, "o3", SHARED, 0, "lagoon"), _turn(first, "o4", KEPT, 1, "meadow")]
    return [*out, *(_turn(user, f"o{k}", ALIKE, 1, "meadow") for k, user in ((5, second), (6, third)))]


def write_log(folder: Path, users: int = 240) -> Path:
    """The log, two files."""
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(lines(*records(users)))
    (folder / "b.jsonl").write_bytes(lines(*leaver_records()))
    return folder


def traces(out: Path, marks: tuple[str, ...] = MARKS) -> dict[str, list[str]]:
    """Files below a folder that hold a mark, by their bytes and names, and for Parquet by all cells of all columns."""
    found: dict[str, list[str]] = {}
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        data = path.read_bytes()
        text = data.decode("utf-8", "replace") + path.name
        if path.suffix == ".parquet" and not path.name.startswith(".tmp-"):
            text += json.dumps(pq.read_table(path).to_pylist(), default=str, ensure_ascii=False)
        hit = [mark for mark in marks if mark in text]
        if hit:
            found[path.relative_to(out).as_posix()] = hit
    return found


def current(out: Path) -> str:
    """The release that CURRENT names."""
    return (out / "CURRENT").read_text().strip()


def manifest(out: Path, release_id: str | None = None) -> dict[str, Any]:
    """A release's manifest."""
    return json.loads((out / "releases" / (release_id or current(out)) / "manifest.json").read_text())


def lineage(out: Path, release_id: str | None = None) -> dict[str, dict[str, Any]]:
    """Examples of a release by their normalised words."""
    folder = out / "releases" / (release_id or current(out)) / "lineage" / "data"
    return {row["utterance"].lower(): row for row in pq.read_table(folder).to_pylist()}


def forget(out: Path, *arguments: object) -> int:
    """Run the command on the user."""
    return afterword("forget", "--out", out, "--user", LEAVER, *arguments)
