"""A fault at every point where something of a release becomes lasting, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults import FSYNC, RENAME, WRITE, Killed, disk_full, disturbed, kill, refused
from site_of_runs import AGAIN, Site
from synthetic import SETTINGS, afterword

from pipeline.config import load
from pipeline.jobs.context import Context
from pipeline.jobs.release import hand_over
from pipeline.workspace import Workspace

# The names at which something becomes true: a file of a view, the manifest, the stage's marker, CURRENT.
LASTING = ("nlu/data/train", "manifest.json", "stages/release/stage.json", "CURRENT")


@pytest.fixture(scope="module")
def copied(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site.copied(tmp_path_factory.mktemp("copied") / "out")


def give(site: Site) -> None:
    """What stage release does after its files are written."""
    manifest = json.loads(site.wanted["manifest.json"])
    hand_over(Context(Workspace(str(site.out)), load(None, [])), manifest)


def interrupt(site: Site, at: Callable[[int, str, str], bool], fault: Callable[..., None]) -> None:
    """Hand the release over with a fault; then readers see a whole one, and the same again finishes it."""
    site.put_back()
    error: Any = Killed if fault is kill else OSError
    with disturbed(at, fault) as points, pytest.raises(error):
        give(site)
    assert points.passed
    site.check_readers()
    give(site)
    site.check_finished()


def points_of(site: Site) -> list[tuple[str, str]]:
    site.put_back()
    with disturbed() as points:
        give(site)
    site.check_finished()
    return points.passed


def test_what_is_lasting_is_flushed_before_it_is_named_and_current_is_named_last(copied: Site):
    passed = points_of(copied)
    renames = [path for kind, path in passed if kind == RENAME]
    lasting = [path.rsplit("/", 1)[-1] for path in renames if not path.endswith(".parquet")]
    assert lasting[-3:] == ["manifest.json", "stage.json", "CURRENT"]
    assert {"README.md", "croissant.json", "gates.json"} <= set(lasting[:-3])
    for number, (kind, path) in enumerate(passed):
        if kind == RENAME and "/releases/" in path:
            assert passed[number - 1][0] == FSYNC and passed[number - 2][0] == WRITE
            assert (FSYNC, str(Path(path).parent)) in passed[number : number + 3], path


@pytest.mark.parametrize("name", LASTING)
@pytest.mark.parametrize("kind", [WRITE, FSYNC, RENAME])
def test_a_kill_where_something_becomes_lasting(copied: Site, name: str, kind: str):
    interrupt(copied, lambda number, at, path: at == kind and name in path, kill)


@pytest.mark.parametrize("name", LASTING)
@pytest.mark.parametrize(("kind", "fault"), [(WRITE, disk_full), (FSYNC, refused), (RENAME, refused)])
def test_a_full_disk_or_a_failed_rename(copied: Site, name: str, kind: str, fault: Callable[..., None]):
    interrupt(copied, lambda number, at, path: at == kind and name in path, fault)


@pytest.mark.long
def test_a_kill_at_every_single_point(copied: Site):
    for n in range(len(points_of(copied))):
        interrupt(copied, lambda number, kind, path, n=n: number == n, kill)


@pytest.mark.parametrize(
    ("path", "fault", "code"),
    [
        ("curate/examples/bucket-00000.parquet", disk_full, 1),
        ("curate/stage.json", disk_full, 1),
        ("curate/files.parquet", refused, 1),
    ],
)
def test_a_stage_that_cannot_write_says_so_and_what_follows_refuses_it(
    site: Site, tmp_path: Path, capsys: Any, path: str, fault: Callable[..., None], code: int
):
    held = site.copied(tmp_path / "out")
    curate = ("curate", *SETTINGS[2:], "--set", "curate.min_users=3", "--out", held.out)
    with disturbed(lambda number, kind, at: kind == WRITE and at.endswith(path), fault):
        assert afterword(*curate) == code
    assert ("No space left" if fault is disk_full else "Input/output") in capsys.readouterr().err
    assert afterword("release", "--out", held.out) == 7
    assert "run `afterword curate`" in capsys.readouterr().err
    assert held.check_readers() == held.old


def test_the_second_release_is_what_a_run_from_curate_makes(site: Site, tmp_path: Path):
    held = site.copied(tmp_path / "out")
    assert afterword(*AGAIN, "--out", held.out) == 0
    held.check_finished()
