from __future__ import annotations

import json
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pipeline import manifest as manifests
from pipeline.errors import PublishError, VerifyError
from pipeline.publish import PosixPublisher, publisher


def release(out: Path, name: str, interval: tuple[str, str] | None = None) -> str:
    """A finished release, as far as a publisher looks at it."""
    folder = out / "releases" / name
    folder.mkdir(parents=True)
    held: dict[str, Any] = {"format": manifests.FORMAT, "release_id": name, "interval": None}
    held |= {"identity": {}, "counts": {}, "closing": {}, "files": {}}
    if interval:
        held["interval"] = {"start": interval[0], "end": interval[1]}
    (folder / manifests.NAME).write_text(json.dumps(held))
    return name


def day(n: int) -> tuple[str, str]:
    return f"2026-03-{n:02d}T00:00:00Z", f"2026-03-{n + 1:02d}T00:00:00+00:00"


def test_current_names_the_release_published_last(tmp_path: Path):
    posix = PosixPublisher(str(tmp_path))
    assert posix.current() is None
    for name in ("a", "b"):
        assert posix.publish(release(tmp_path, name))
        assert posix.current() == name == (tmp_path / "CURRENT").read_text().strip()


def test_a_backfill_does_not_move_current_back(tmp_path: Path):
    posix = PosixPublisher(str(tmp_path))
    assert posix.publish(release(tmp_path, "second", day(2)))
    assert not posix.publish(release(tmp_path, "first", day(1)))
    assert posix.current() == "second"
    assert posix.publish(release(tmp_path, "third", day(3)))
    assert posix.publish(release(tmp_path, "third-again", day(3)))
    assert posix.current() == "third-again"


def test_intervals_are_compared_as_times_not_as_texts(tmp_path: Path):
    posix = PosixPublisher(str(tmp_path))
    posix.publish(release(tmp_path, "a", ("2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00-05:00")))
    assert not posix.publish(release(tmp_path, "b", ("2026-03-01T00:00:00Z", "2026-03-02T04:00:00+00:00")))


def test_to_publish_what_is_current_changes_nothing(tmp_path: Path):
    posix = PosixPublisher(str(tmp_path))
    posix.publish(release(tmp_path, "a"))
    before = (tmp_path / "CURRENT").stat().st_ino
    assert posix.publish("a")
    assert (tmp_path / "CURRENT").stat().st_ino == before


def test_an_unfinished_release_is_not_published(tmp_path: Path):
    posix = PosixPublisher(str(tmp_path))
    posix.publish(release(tmp_path, "a"))
    (tmp_path / "releases" / "half").mkdir()
    with pytest.raises(VerifyError, match=r"no manifest\.json"):
        posix.publish("half")
    assert posix.current() == "a"


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_crash_in_the_switch_leaves_the_old_release_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
):
    posix = PosixPublisher(str(tmp_path))
    posix.publish(release(tmp_path, "old"))
    release(tmp_path, "new")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, broken, crash)
        with pytest.raises(KeyboardInterrupt):
            posix.publish("new")
    assert posix.current() == "old"
    assert posix.publish("new") and posix.current() == "new"


def test_readers_never_meet_half_a_name(tmp_path: Path):
    names = {release(tmp_path, "a" * 64), release(tmp_path, "b" * 64)}
    posix = PosixPublisher(str(tmp_path))
    posix.publish("a" * 64)
    seen, done = set(), threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(posix.current())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        for name in sorted(names):
            posix.publish(name)
    done.set()
    reader.join()
    assert seen <= names


def _publish_all(out: str, names: list[str]) -> None:
    for name in names:
        PosixPublisher(out).publish(name)


def test_two_processes_at_once_end_with_the_latest_interval(tmp_path: Path):
    names = [release(tmp_path, f"r{n:02d}", day(n)) for n in range(1, 21)]
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_publish_all, args=(str(tmp_path), part)) for part in (names[::2], names[1::2])]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [w.exitcode for w in workers] == [0, 0]
    assert PosixPublisher(str(tmp_path)).current() == "r20"


@pytest.mark.parametrize("out", ["hdfs://name/out"])
def test_a_store_without_a_known_atomic_switch_is_refused(out: str):
    with pytest.raises(PublishError, match="no atomic switch is known"):
        publisher(out)


def test_a_current_that_names_a_release_which_is_gone_does_not_block_the_next(tmp_path: Path):
    old, new = release(tmp_path, "old", day(2)), release(tmp_path, "new", day(1))
    store = PosixPublisher(str(tmp_path))
    assert store.publish(old)
    (tmp_path / "releases" / old / "manifest.json").unlink()
    assert store.publish(new) and store.current() == new
