"""The command itself, killed at random moments, out of disk, and twice at once.

`make crash` kills it 200 times; `KILLS` and `SEED` say how often and by which draw.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from site_of_runs import AGAIN, SECOND, Site, current
from synthetic import SETTINGS, tree

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("SEED", "1"))
# Kills between two runs that are left alone; every fourth such round begins at the log, the others at stage curate.
ROUND = 5
# No run takes so long; one that does hangs.
LIMIT = 300.0


def start(*arguments: object) -> subprocess.Popen[str]:
    """The command, as a process of its own."""
    command = [sys.executable, "-m", "pipeline.cli", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=pipe, text=True)


def run(*arguments: object) -> tuple[int, str, float]:
    """Its exit code, what it said, and how long it took."""
    begun = time.monotonic()
    process = start(*arguments)
    _, said = process.communicate(timeout=LIMIT)
    return process.returncode, said, time.monotonic() - begun


@contextmanager
def reader(site: Site) -> Iterator[set[str]]:
    """Somebody who follows CURRENT all the while; every release that is named has all its files at that moment."""
    seen: set[str] = set()
    broken: list[str] = []
    done = threading.Event()
    sizes = {name: len(data) for name, data in site.wanted.items()}

    def follow() -> None:
        while not done.wait(0.01):
            named = current(site.out)
            if named not in seen:
                folder = site.out / "releases" / named
                whole = (folder / "manifest.json").exists()
                if named == site.new:
                    whole &= {n: (folder / n).stat().st_size for n in sizes if (folder / n).exists()} == sizes
                if not whole:
                    broken.append(named)
                seen.add(named)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()
    assert not broken


def killed(site: Site, way: tuple[object, ...], after: float) -> bool:
    """Kill the command after so many seconds, with a reader beside it; False where it had come to its end by then."""
    with reader(site):
        process = start(*way, "--out", site.out)
        try:
            _, said = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
    assert process.returncode == 0, said
    return False


def test_killed_at_random_moments_readers_see_a_whole_release_and_a_rerun_finishes_it(
    site: Site, log: Path, tmp_path: Path
):
    held, draw = site.copied(tmp_path / "out"), random.Random(SEED)
    whole = ("run", "--input", log, *SETTINGS, *SECOND)
    takes = {way: 0.0 for way in (AGAIN, whole)}
    for way in takes:
        held.put_back()
        code, said, takes[way] = run(*way, "--out", held.out)
        assert code == 0, said
        held.check_finished()
    kills = rounds = 0
    while kills < KILLS:
        way = whole if rounds % 4 == 3 else AGAIN
        rounds += 1
        held.put_back()
        left = min(ROUND, KILLS - kills)
        while left:
            # The first fifth of the time is importing libraries.
            if killed(held, way, draw.uniform(0.2, 1.05) * takes[way]):
                kills, left = kills + 1, left - 1
                held.check_readers()
            else:
                held.check_finished()
                held.put_back()
        code, said, seconds = run(*way, "--out", held.out)
        assert code == 0, said
        takes[way] = (takes[way] + seconds) / 2
        held.check_finished()


def test_of_two_runs_at_once_one_is_refused_or_waits_its_turn_and_the_release_is_the_same(site: Site, tmp_path: Path):
    held = site.copied(tmp_path / "out")
    with reader(held):
        processes = [start(*AGAIN, "--out", held.out) for _ in range(2)]
        said = [process.communicate(timeout=LIMIT)[1] for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes in ([0, 10], [0, 0]), said
    assert codes == [0, 0] or any("another run is at work" in text for text in said)
    held.check_finished()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that can be made smaller or larger; skips where this user may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("mount") is None or _mount(disk, "64m"):
        pytest.skip("no right to mount a file system here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def _mount(disk: Path, size: str, *options: str) -> int:
    how = ",".join([f"size={size}", *options])
    command = ["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(disk)]
    return subprocess.run(command, capture_output=True, check=False).returncode


@pytest.mark.parametrize("kilobytes", [8, 40, 96])
def test_a_disk_that_is_really_full_fails_the_run_and_with_room_it_goes_on(
    site: Site, small_disk: Path, kilobytes: int
):
    held = site.copied(small_disk / "out")
    shutil.rmtree(held.out / "stages" / "curate")
    shutil.rmtree(held.out / "stages" / "release")
    filesystem = os.statvfs(small_disk)
    used = (filesystem.f_blocks - filesystem.f_bfree) * filesystem.f_frsize // 1024
    assert _mount(small_disk, f"{used + kilobytes}k", "remount") == 0
    code, said, _ = run(*AGAIN, "--out", held.out)
    assert code == 1 and "No space left on device" in said.splitlines()[-1], said
    assert held.check_readers() == held.old
    assert _mount(small_disk, "64m", "remount") == 0
    code, said, _ = run(*AGAIN, "--out", held.out)
    assert code == 0, said
    held.check_finished()
    assert tree(held.out / "releases" / held.old) == tree(site.out / "releases" / site.old)
