"""One Publisher, three kinds of store: what holds on a disk holds on S3 and GCS (emulators; tests/emulators.py)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pipeline import manifest as manifests
from pipeline import publish, storage
from pipeline.errors import PublishError, VerifyError
from pipeline.publish import Held, Publisher, publisher
from pipeline.publish_stores import GcsPublisher, S3Publisher

_NUMBER = count()


@pytest.fixture(params=["posix", "s3", "gcs"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An output folder of its own on each kind of store."""
    if request.param == "posix":
        return str(tmp_path)
    return f"{request.getfixturevalue(f'{request.param}_bucket')}/made/out{next(_NUMBER)}"


def release(out: str, name: str, n: int | None = None) -> str:
    """A finished release, as far as a publisher looks at it; of the n-th day."""
    held: dict[str, Any] = {"format": manifests.FORMAT, "release_id": name, "interval": None}
    held |= {"identity": {}, "counts": {}, "closing": {}, "files": {}}
    if n is not None:
        held["interval"] = {"start": f"2026-03-{n:02d}T00:00:00Z", "end": f"2026-03-{n + 1:02d}T00:00:00Z"}
    storage.write_bytes(storage.join(out, "releases", name, manifests.NAME), json.dumps(held).encode())
    return name


def pointer(out: str, name: str = "CURRENT") -> str:
    """A pointer as a reader without any client of ours has it."""
    return storage.read_bytes(storage.join(out, name)).decode().strip()


def ahead(store: Publisher, name: str, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> list[Held]:
    """Let another publisher put a release into CURRENT between this one's look and its switch."""
    replace, seen = store._replace, []

    def late(pointer: str, release_id: str, held: Held) -> bool:
        seen.append(held)
        if len(seen) <= times:
            other = publisher(store.out)
            other._replace("CURRENT", name if times == 1 else f"{name}{len(seen)}", other._held("CURRENT"))
        return replace(pointer, release_id, held)

    monkeypatch.setattr(store, "_replace", late)
    return seen


def test_current_names_the_release_published_last(out: str):
    store = publisher(out)
    assert store.current() is None
    for name in ("a", "b"):
        assert store.publish(release(out, name))
        assert store.current() == name == pointer(out)


def test_a_backfill_never_moves_current_back(out: str):
    store = publisher(out)
    assert store.publish(release(out, "second", 2))
    assert not store.publish(release(out, "first", 1))
    assert store.publish(release(out, "third", 3)) and store.current() == "third"


def test_an_unfinished_release_is_neither_published_nor_pinned(out: str):
    store = publisher(out)
    store.publish(release(out, "a"))
    for attempt in (store.publish, lambda name: store.switch("pins/nlu", name)):
        with pytest.raises(VerifyError, match=r"no manifest\.json"):
            attempt("half")
    assert store.current() == "a" and store.read("pins/nlu") is None


def test_a_pin_is_a_pointer_of_its_own_and_may_go_back(out: str):
    store = publisher(out)
    release(out, "first", 1)
    store.publish(release(out, "second", 2))
    store.switch("pins/nlu", "first")
    assert (pointer(out, "pins/nlu"), store.current()) == ("first", "second")
    store.switch("CURRENT", "first", seen="second")
    assert store.current() == "first"
    with pytest.raises(PublishError, match="no longer names second"):
        store.switch("CURRENT", "second", seen="second")
    assert store.current() == "first"
    store.drop("pins/nlu")
    store.drop("pins/nlu")
    assert store.read("pins/nlu") is None


@pytest.mark.parametrize(
    ("stored", "other", "mine", "published", "ends"),
    [(0, 2, 3, True, "mine"), (0, 3, 2, False, "other"), (1, 3, 2, False, "other"), (1, 2, 3, True, "mine")],
)
@pytest.mark.parametrize("kind", ["s3", "gcs"])
def test_of_two_publishers_at_once_the_slower_decides_anew_by_the_interval(
    kind: str,
    stored: int,
    other: int,
    mine: int,
    published: bool,
    ends: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
):
    out = f"{request.getfixturevalue(f'{kind}_bucket')}/race{next(_NUMBER)}"
    if stored:
        publisher(out).publish(release(out, "old", stored))
    release(out, "other", other)
    store = publisher(out)
    seen = ahead(store, "other", monkeypatch)
    assert store.publish(release(out, "mine", mine)) is published
    assert pointer(out) == ends
    # What was held at first was refused by the store, not by us.
    assert seen[0].release_id == ("old" if stored else None) and len(seen) == 1 + published


@pytest.mark.parametrize("kind", ["s3", "gcs"])
def test_a_publisher_that_is_outrun_again_and_again_says_so_and_changes_nothing(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    out = f"{request.getfixturevalue(f'{kind}_bucket')}/busy{next(_NUMBER)}"
    monkeypatch.setattr(publish, "_TRIES", 3)
    store = publisher(out)
    ahead(store, "other", monkeypatch, times=3)
    with pytest.raises(PublishError, match=r"faster 3 times.*run `afterword release` again"):
        store.publish(release(out, "mine"))
    assert pointer(out) == "other3"


def test_publishers_in_many_threads_end_with_the_latest_interval(out: str):
    names = [release(out, f"r{n:02d}", n) for n in range(1, 9)]
    failed: list[BaseException] = []

    def publish_all(part: list[str]) -> None:
        try:
            store = publisher(out)
            for name in part:
                store.publish(name)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=publish_all, args=(part,)) for part in (names[::2], names[1::2][::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and pointer(out) == "r08"


def test_a_crash_before_the_switch_leaves_the_old_one_and_can_be_repeated(out: str, monkeypatch: pytest.MonkeyPatch):
    store = publisher(out)
    store.publish(release(out, "old"))
    release(out, "new")

    def crash(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "_replace", crash)
        with pytest.raises(KeyboardInterrupt):
            store.publish("new")
    assert pointer(out) == "old"
    assert publisher(out).publish("new") and pointer(out) == "new"


def test_a_switch_whose_answer_was_lost_is_not_a_failure(s3_bucket: str, monkeypatch: pytest.MonkeyPatch):
    out = f"{s3_bucket}/lost{next(_NUMBER)}"
    store = publisher(out)
    replace: Callable[..., bool] = store._replace

    def unheard(*arguments: Any) -> bool:
        replace(*arguments)
        # The client tried again, and the store said that the object is no longer what was held.
        return replace(*arguments)

    monkeypatch.setattr(store, "_replace", unheard)
    assert store.publish(release(out, "a")) and pointer(out) == "a"


def test_the_publisher_follows_from_the_address(s3_bucket: str, gcs_bucket: str, tmp_path: Path):
    assert isinstance(publisher(s3_bucket), S3Publisher)
    assert isinstance(publisher(gcs_bucket), GcsPublisher)
    assert isinstance(publisher(str(tmp_path)), publish.PosixPublisher)


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_store_that_refuses_is_told_as_a_publish_error(scheme: str, request: pytest.FixtureRequest):
    request.getfixturevalue({"s3": "s3_bucket", "gs": "gcs_bucket"}[scheme])
    with pytest.raises(PublishError, match=r"the store refused|faster"):
        publisher(f"{scheme}://no-such-bucket/out")._change("CURRENT", "a", lambda now: True)


def test_files_of_an_object_store_are_listed_summed_and_removed_by_folder(s3_bucket: str, gcs_bucket: str):
    for bucket in (s3_bucket, gcs_bucket):
        folder = f"{bucket}/files{next(_NUMBER)}"
        storage.make_folder(folder)
        for name in ("a/x.json", "a/b/y.json", "c/z.json"):
            storage.write_bytes(f"{folder}/{name}", name.encode())
        storage.write_bytes(f"{folder}/a/x.json", b"again")
        assert storage.read_bytes(f"{folder}/a/x.json") == b"again"
        assert storage.files(f"{folder}/a") == [f"{folder}/a/x.json"]
        assert storage.sizes(folder)[f"{folder}/c/z.json"] == 8
        storage.remove(f"{folder}/a")
        storage.remove(f"{folder}/none")
        assert storage.files(folder, "**") == [f"{folder}/c/z.json"]
        assert not storage.exists(f"{folder}/a/x.json")
