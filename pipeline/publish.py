"""CURRENT names the release that readers follow; a Publisher switches it in one step, or not at all."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.config import parse_time
from pipeline.errors import PublishError, VerifyError

CURRENT: Final = "CURRENT"


class Publisher(Protocol):
    """Switches CURRENT, and the names in `pins`, on one kind of store."""

    def current(self) -> str | None:
        """The release id that CURRENT names; None before the first release."""
        ...

    def publish(self, release_id: str) -> bool:
        """Switch CURRENT to a finished release; False where an interval later than the release's is current."""
        ...

    def read(self, name: str) -> str | None:
        """The release id that a name (CURRENT, pins/NAME) stands for; None where there is none."""
        ...

    def switch(self, name: str, release_id: str) -> None:
        """Let a name stand for a finished release, whatever it stood for."""
        ...

    def drop(self, name: str) -> None:
        """Take a name away; nothing happens where there is none."""
        ...


class PosixPublisher:
    """Local and network file systems: under a lock, a durable file put in the place of the old one (`os.replace`)."""

    def __init__(self, out: str) -> None:
        self._out = Path(out)

    def current(self) -> str | None:
        """The release id that CURRENT names."""
        return self.read(CURRENT)

    def read(self, name: str) -> str | None:
        """The release id that a name stands for."""
        path = self._out / name
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def publish(self, release_id: str) -> bool:
        """Switch CURRENT. Two processes at once take turns."""
        new = manifests.read(str(self._out / "releases" / release_id))
        with self._lock():
            now = self.current()
            if now == release_id:
                return True
            if now is not None and self._stands_later(now, new):
                return False
            self._write(CURRENT, release_id)
        return True

    def switch(self, name: str, release_id: str) -> None:
        """Replace a name's file. Two processes at once take turns."""
        manifests.read(str(self._out / "releases" / release_id))
        with self._lock():
            self._write(name, release_id)

    def drop(self, name: str) -> None:
        """Remove a name's file."""
        with self._lock():
            (self._out / name).unlink(missing_ok=True)

    def _write(self, name: str, release_id: str) -> None:
        storage.write_bytes(str(self._out / name), f"{release_id}\n".encode(), durable=True)

    def _stands_later(self, now: str, new: dict[str, Any]) -> bool:
        """Whether the current release covers a later interval; one that is gone or broken stands in nobody's way."""
        try:
            held = manifests.read(str(self._out / "releases" / now))
        except VerifyError:
            return False
        return _is_later(held, new)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with (self._out / ".publish.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def publisher(out: str) -> Publisher:
    """The Publisher of a store.

    Raises
    ------
    PublishError
        Where no atomic switch is known for it.
    """
    if storage.is_local(out):
        return PosixPublisher(out)
    scheme = out.split("://", 1)[0]
    raise PublishError(
        f"{out}: no atomic switch is known for {scheme}://; the release is complete, and readers can be pointed at "
        "its folder. Publish to a POSIX file system, or switch by other means"
    )


def _is_later(held: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the held release covers a later interval. Releases without an interval stand in no order."""
    ends = [m["interval"]["end"] if m["interval"] else None for m in (held, new)]
    if None in ends:
        return False
    return parse_time(ends[0], "interval.end") > parse_time(ends[1], "interval.end")
