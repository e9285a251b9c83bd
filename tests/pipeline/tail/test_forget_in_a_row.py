"""Forgetting reaches what a release hands to the next run, and gc keeps a release that the next run needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from in_a_row import LAST, manifests, run, write_days
from leaver import traces
from synthetic import afterword, copy

from pipeline import intervals
from pipeline.lifecycle.garbage import needed
from pipeline.verify import PROOFS, verify

# A user whose session the first release judged, and hands on; who is in no example of the second.
EARLY = "u005"


@pytest.fixture(scope="module")
def row(released: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """An output folder after one day, and the logs. Copy it before changing it."""
    folder = tmp_path_factory.mktemp("row")
    logs = write_days(folder / "logs")
    # The second day's session goes over the first midnight, so that the release of one day holds an open one.
    text = (logs[1] / "log.jsonl").read_text().splitlines(keepends=True)
    theirs = [line for line in text if f'"{LAST}"' in line]
    (logs[0] / "last.jsonl").write_text("".join(theirs).replace("2026-03-02T23:59", "2026-03-01T23:59"))
    assert run(logs[0], 0, folder / "out", released) == 0
    return folder / "out", logs


def forget(out: Path, user: str) -> int:
    return afterword("forget", "--out", out, "--user", user, "--force")


def marks(user: str) -> tuple[str, ...]:
    return (f'"{user}"', f"{user}-")


@pytest.mark.parametrize("stages", [True, False])
def test_a_user_who_is_in_nothing_but_the_tail_is_forgotten(row: tuple[Path, list[Path]], tmp_path: Path, stages: bool):
    out = copy(row[0], tmp_path / "out")
    before = manifests(out)[0]
    assert any("tail/open" in name for name in traces(out, marks(LAST)))
    if not stages:
        shutil.rmtree(out / "stages")
    assert forget(out, LAST) == 0
    assert traces(out, marks(LAST)) == {}
    (after,) = manifests(out)
    assert after["release_id"] != before["release_id"]
    assert after["made_of"]["left_open"] == before["made_of"]["left_open"] - 6
    assert after["made_of"]["handed_on"]["recent"] == before["made_of"]["handed_on"]["recent"]
    assert after["closing"]["ingest"]["forgotten"] == 6
    assert len(verify(str(out / "releases" / after["release_id"]))) == len(PROOFS)
    # The next run takes over from what replaced it.
    assert intervals.parent(str(out), {"start": after["interval"]["end"], "end": ""}) == after["release_id"]


@pytest.mark.long
@pytest.mark.parametrize("stages", [True, False])
def test_the_next_run_finds_nothing_of_who_was_forgotten(
    row: tuple[Path, list[Path]], released: Path, tmp_path: Path, stages: bool
):
    out = copy(row[0], tmp_path / "out")
    assert any("tail/recent" in name for name in traces(out, marks(EARLY)))
    if not stages:
        shutil.rmtree(out / "stages")
    assert forget(out, EARLY) == 0 and traces(out, marks(EARLY)) == {}
    assert run(row[1][1], 1, out, released) == 0
    first, second = manifests(out)
    assert second["identity"]["taken"]["release"] == first["release_id"]
    assert traces(out, marks(EARLY)) == {}
    # Of both releases, the older and the current, the one user who is in the tail of both.
    assert forget(out, LAST) == 0 and traces(out, marks(LAST)) == {}
    for manifest in manifests(out):
        assert len(verify(str(out / "releases" / manifest["release_id"]))) == len(PROOFS)


def test_gc_keeps_a_release_whose_open_sessions_nobody_has_taken_over(row: tuple[Path, list[Path]], tmp_path: Path):
    out = copy(row[0], tmp_path / "out")
    name = manifests(out)[0]["release_id"]
    (out / "CURRENT").unlink()
    assert intervals.waiting(str(out)) == [name]
    assert needed(str(out)) == {name: ["the next run takes over the sessions that it left open"]}
