"""Forgetting that is stopped anywhere is finished by the same command; readers have a whole release all the time."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leaver import LEAVER, PLAIN, SHARED, current, forget, lineage, manifest, traces
from synthetic import copy

from pipeline.errors import GateError
from pipeline.filters.tombstones import tombstone_files
from pipeline.jobs import release
from pipeline.lifecycle import clean, search, stages
from pipeline.lifecycle.forget import _Forgetting
from pipeline.verify import PROOFS, verify

ROOT = Path(__file__).parents[3]


def _at_call(function: Callable[..., Any], number: int) -> Callable[..., Any]:
    """The function, stopped when it is called for the n-th time."""
    calls = iter(range(1, 1_000))

    def stopped(*arguments: Any, **named: Any) -> Any:
        if next(calls) == number:
            raise KeyboardInterrupt
        return function(*arguments, **named)

    return stopped


POINTS = {
    "after the tombstone": (_Forgetting, "_write", 1),
    "when the audits are gone": (clean, "gold", 1),
    "in the tables of the stages": (stages, "rewrite", 7),
    "before the stages run again": (stages, "again", 1),
    "before the switch": (release, "publisher", 1),
    "after the switch": (_Forgetting, "_remove", 2),
    "before the last search": (search, "files_with", 1),
}
# Of these one shows it in short; the others take as long each.
SHORT = {"in the tables of the stages"}


@pytest.mark.parametrize("point", [p if p in SHORT else pytest.param(p, marks=pytest.mark.long) for p in POINTS])
def test_stopped_and_begun_again(held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str):
    out = copy(held, tmp_path / "out")
    owner, name, number = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, _at_call(getattr(owner, name), number))
        assert forget(out) == 130
    tombstones = tombstone_files(str(out), None).load()
    assert tombstones is not None and tombstones.mac(LEAVER) in tombstones.held
    assert len(verify(str(out / "releases" / current(out)))) == len(PROOFS)
    assert forget(out) == 0
    assert traces(out) == {}
    assert lineage(out)[PLAIN]["support"] == 2 and SHARED not in lineage(out)
    assert {p.name for p in (out / "releases").iterdir()} == {current(out)}
    assert manifest(out)["identity"]["withdrawn"] == tombstones.macs


def test_where_the_gates_refuse_what_is_left_the_examples_are_withdrawn(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: Any) -> None:
        raise GateError("too few turns")

    out = copy(held, tmp_path / "out")
    monkeypatch.setattr(stages, "again", refuse)
    assert forget(out) == 0
    assert traces(out) == {} and PLAIN not in lineage(out)
    assert len(verify(str(out / "releases" / current(out)))) == len(PROOFS)
    assert manifest(out)["identity"]["replaces"] == current(held)


@pytest.mark.long
def test_killed_at_any_time_and_begun_again(held: Path, tmp_path: Path):
    out = copy(held, tmp_path / "out")
    command = [sys.executable, "-m", "pipeline.cli", "forget", "--out", str(out), "--user", LEAVER]
    for seconds in (3, 6, 9, 14, 20):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        verify(str(out / "releases" / current(out)))
    assert forget(out) == 0
    assert traces(out) == {} and lineage(out)[PLAIN]["support"] == 2
    assert {p.name for p in (out / "releases").iterdir()} == {current(out)}
