"""One run at a time on an output folder of an object store: an object names the run that is at work.

It is written with the conditional request by which pointers are switched, and again every `RENEW_S` seconds. A run that
finds another's watches it: where it changes the other is alive, and this one ends; where it stays as it is for `DEAD_S`
seconds the other has died, and this one takes its place. So no two machines' clocks are held against each other, but
for a lease that ran out long ago. Who loses the lease is stopped: its next renewal is refused.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pipeline.errors import BusyError, PublishError, Superseded
from pipeline.publish import Held, Publisher

NAME: Final = ".work.lease"
# How often a lease is renewed, and after how long without it the run counts as dead: some missed renewals are no death.
RENEW_S: float = 30.0
DEAD_S: float = 180.0
# How often one who waits looks.
LOOK_S: float = 5.0
# A lease that ran out so long ago is nobody's by any clock.
_LONG_S: Final = 3600.0
_FREE: Final = "free"
# What stops the main thread. Not SIGINT, which a command in a shell's background ignores.
_STOP: Final = signal.SIGUSR1


class Lease:
    """The right to work in an output folder.

    Parameters
    ----------
    store : Publisher
        Of an object store.
    command : str
        What is run, for who finds the lease.

    Attributes
    ----------
    lost : str
        Why it is this run's no more; empty = it is.
    removed : bool
        It was taken away and is nobody's: another run cannot have taken up what this one sent.
    """

    def __init__(self, store: Publisher, command: str) -> None:
        self.store, self.command = store, command
        self._begun = datetime.now(UTC)
        self._id = uuid.uuid4().hex
        self._over = threading.Event()
        self.lost, self.removed = "", False

    @property
    def path(self) -> str:
        """Where the lease lies."""
        return f"{self.store.out}/{NAME}"

    def take(self, note: Callable[[str], None]) -> None:
        """Take the lease, after a wait where it is another's that may have died.

        Raises
        ------
        BusyError
            If another run is at work.
        PublishError
            If the store refuses.
        """
        seen, since = self.store.held(NAME), time.monotonic()
        if _is_held(seen):
            note(f"{self.path}: {_holder(seen)} has it; waiting for up to {DEAD_S:.0f} s to see whether it is alive")
        while True:
            dead = time.monotonic() - since >= DEAD_S
            if (not _is_held(seen) or dead) and self.store.replace(NAME, self._text(), seen):
                return
            now = self.store.held(NAME)
            # The answer to a request that was carried out may have been lost, and the client have asked again.
            if self._is_mine(now):
                return
            if _is_held(now) and now.version != seen.version:
                raise BusyError(
                    f"{self.store.out}: another run is at work here, {_holder(now)}. Wait for it, or give another "
                    f"--out. To stop it without access to its machine remove {self.path}: it then ends within "
                    f"{RENEW_S:.0f} s"
                )
            if now.version != seen.version:
                seen, since = now, time.monotonic()
                continue
            time.sleep(min(LOOK_S, max(DEAD_S - (time.monotonic() - since), 0.01)))

    def keep(self) -> None:
        """Renew the lease until it is given back; where it is lost, stop the process's main thread."""
        last = time.monotonic()
        while not self._over.wait(RENEW_S):
            try:
                renewed = self._renew()
            except PublishError as error:
                if time.monotonic() - last < DEAD_S:
                    continue
                renewed = str(error)
            # One that was given back meanwhile is not lost.
            if renewed and not self._over.is_set():
                self.lost = renewed
                # As Ctrl+C does, whatever it waits for.
                signal.pthread_kill(threading.main_thread().ident or 0, _STOP)
                return
            last = time.monotonic()

    def end(self) -> None:
        """Renew it no more."""
        self._over.set()

    def give_back(self) -> None:
        """Let others in; nothing happens where the lease is another's by now."""
        held = self.store.held(NAME)
        if self._is_mine(held):
            self.store.replace(NAME, _FREE, held)

    def _renew(self) -> str:
        """Write it again; gives why that cannot be, empty where it was done."""
        held = self.store.held(NAME)
        if self._is_mine(held):
            if self.store.replace(NAME, self._text(), held):
                return ""
            held = self.store.held(NAME)
            if self._is_mine(held):
                return ""
        self.removed = not _is_held(held)
        return "it was removed" if self.removed else f"{_holder(held)} has it now"

    def _is_mine(self, held: Held) -> bool:
        return _read(held).get("id") == self._id

    def _text(self) -> str:
        told = {
            "id": self._id,
            "command": self.command,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "begun": f"{self._begun:%Y-%m-%dT%H:%M:%SZ}",
            "until": (datetime.now(UTC) + timedelta(seconds=DEAD_S)).isoformat(),
        }
        return json.dumps(told, sort_keys=True)


@contextmanager
def lease(store: Publisher, command: str, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the lease meanwhile; of the main thread alone, which is stopped where it is lost.

    Raises
    ------
    BusyError
        If another run is at work, or the lease was lost.
    PublishError
        If the store refuses; nothing was begun.
    """
    held = Lease(store, command)
    held.take(note)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt if held.removed else Superseded

    before = signal.signal(_STOP, stop)
    keeper = threading.Thread(target=held.keep, name="lease", daemon=True)
    keeper.start()
    try:
        yield
    except KeyboardInterrupt:
        if held.lost:
            raise BusyError(
                f"{held.path}: this run was stopped, as its lease is gone ({held.lost}). The last release stays "
                "current; what two runs wrote at once does not pass the checks of the stages: run the same again"
            ) from None
        raise
    finally:
        held.end()
        # A renewal that is under way would find the lease given back, and must not write it again.
        keeper.join(RENEW_S)
        # Where the store does not answer, the lease runs out.
        with suppress(PublishError):
            held.give_back()
        signal.signal(_STOP, before)


def _read(held: Held) -> dict[str, Any]:
    """What a lease says; nothing where it is free, or cannot be read."""
    try:
        told = json.loads(held.release_id or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _is_held(held: Held) -> bool:
    """Whether a run may be at work, by what the lease says."""
    told = _read(held)
    try:
        until = datetime.fromisoformat(str(told["until"]))
    except (KeyError, ValueError):
        return False
    return datetime.now(UTC) - until < timedelta(seconds=_LONG_S)


def _holder(held: Held) -> str:
    told = _read(held)
    where = f"on {told.get('host')} (process {told.get('pid')})"
    return f"`afterword {told.get('command')}` {where} since {told.get('begun')}"
