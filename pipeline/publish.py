"""CURRENT names the release that readers follow; a Publisher switches it in one step, or not at all.

Pins (`pins/<consumer>`) are pointers of the same kind. A pointer is a file that holds a release id. It is read together
with the store's own mark of that moment, and replaced only where the mark still holds, so that of two publishers at
once one is told and decides anew by what is current now.
"""

from __future__ import annotations

import fcntl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.checks import parse_time
from pipeline.errors import PublishError, VerifyError

CURRENT: Final = "CURRENT"
# How often a publisher decides anew after another was faster; each time, the other one has finished.
_TRIES: Final = 20


@dataclass(frozen=True)
class Held:
    """What a pointer named when it was read, and the store's mark of that (an ETag, a generation); None = not there."""

    release_id: str | None
    version: Any


class Publisher(ABC):
    """Switches the pointers of one output folder on one kind of store."""

    def __init__(self, out: str) -> None:
        self.out = out.rstrip("/") or "/"

    def current(self) -> str | None:
        """The release id that CURRENT names; None before the first release."""
        return self.read(CURRENT)

    def read(self, name: str) -> str | None:
        """The release id that a pointer names; None where there is no such pointer."""
        return self._held(name).release_id

    def publish(self, release_id: str) -> bool:
        """Switch CURRENT to a finished release; False where an interval later than the release's is current.

        Raises
        ------
        VerifyError
            If the release is not finished.
        PublishError
            If the store refuses, or others were faster again and again.
        """
        new = manifests.read(storage.join(self.out, "releases", release_id))
        return self._change(CURRENT, release_id, lambda now: now is None or not self._stands_later(now, new))

    def switch(self, name: str, release_id: str, seen: str | None = None) -> None:
        """Point a name to a finished release, whatever its interval: for pins, and to go back by hand.

        Parameters
        ----------
        name : str
            `CURRENT`, or `pins/<consumer>`.
        release_id : str
        seen : str or None
            The release that the name is to be taken from; None = from any, or from none.

        Raises
        ------
        VerifyError
            If the release is not finished.
        PublishError
            If the name points to another release than was `seen`, or as for `publish`.
        """
        manifests.read(storage.join(self.out, "releases", release_id))
        if not self._change(name, release_id, lambda now: seen in (None, now)):
            raise PublishError(
                f"{self.out}/{name}: no longer names {seen}, another has switched it; look at it and decide anew"
            )

    def held(self, name: str) -> Held:
        """A pointer's one line of text, with the store's mark of it."""
        return self._held(name)

    def replace(self, name: str, text: str, held: Held) -> bool:
        """Write a line of text where the pointer is still what was held; False where it is not."""
        return self._replace(name, text, held)

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a pointer; nothing happens where there is none."""

    @abstractmethod
    def _held(self, name: str) -> Held:
        """Read a pointer."""

    @abstractmethod
    def _replace(self, name: str, release_id: str, held: Held) -> bool:
        """Write a pointer where it is still what was held; False where it is not."""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep others of this store out meanwhile, where it can."""
        yield

    def _change(self, name: str, release_id: str, may: Callable[[str | None], bool]) -> bool:
        for _ in range(_TRIES):
            with self._turn():
                held = self._held(name)
                if held.release_id == release_id:
                    return True
                if not may(held.release_id):
                    return False
                if self._replace(name, release_id, held):
                    return True
        raise PublishError(
            f"{self.out}/{name}: other publishers were faster {_TRIES} times. The release {release_id} is complete; "
            "run `afterword release` again when they are done"
        )

    def _stands_later(self, now: str, new: dict[str, Any]) -> bool:
        """Whether the current release covers a later interval; one that is gone or broken stands in nobody's way."""
        try:
            held = manifests.read(storage.join(self.out, "releases", now))
        except VerifyError:
            return False
        return _is_later(held, new)


class PosixPublisher(Publisher):
    """Local and network file systems: under a lock, a durable file put in the place of the old one (`os.replace`)."""

    def drop(self, name: str) -> None:
        """Remove a pointer."""
        with self._turn():
            (Path(self.out) / name).unlink(missing_ok=True)

    def _held(self, name: str) -> Held:
        path = Path(self.out) / name
        named = path.read_text(encoding="utf-8").strip() if path.exists() else ""
        return Held(named or None, None)

    def _replace(self, name: str, release_id: str, held: Held) -> bool:
        path = Path(self.out) / name
        # Left by a publisher that was killed: no other writes while this one has the lock.
        for left in path.parent.glob(f"{storage.TEMPORARY}*-{path.name}"):
            left.unlink()
        storage.write_bytes(str(path), f"{release_id}\n".encode(), durable=True)
        return True

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with (Path(self.out) / ".publish.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def publisher(out: str) -> Publisher:
    """The Publisher of a store.

    Raises
    ------
    PublishError
        Where no atomic switch is known for it, or its client is not installed.
    """
    if storage.is_local(out):
        return PosixPublisher(out)
    from pipeline.publish_stores import STORES

    scheme = out.split("://", 1)[0]
    if scheme in STORES:
        return STORES[scheme](out)
    raise PublishError(
        f"{out}: no atomic switch is known for {scheme}://; the release is complete, and readers can be pointed at "
        "its folder. Publish to a POSIX file system, to gs:// or s3://, or switch by other means"
    )


def _is_later(held: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the held release covers a later interval. Releases without an interval stand in no order."""
    ends = [m["interval"]["end"] if m["interval"] else None for m in (held, new)]
    if None in ends:
        return False
    return parse_time(ends[0], "interval.end") > parse_time(ends[1], "interval.end")
