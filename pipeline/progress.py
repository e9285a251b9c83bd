"""What a person sees while a stage runs: one live line on a terminal, plain lines or JSON in a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TextIO

from pipeline import tally
from pipeline.log import Log

_LIVE_S: Final = 0.2
_LOG_S: Final = 30.0
# The rate of fewer rows is that of starting up.
_RATED_FROM: Final = 10_000


@dataclass
class Progress:
    """Prints progress to a stream (standard error by default) and keeps each stage's seconds and rows.

    Attributes
    ----------
    stream : text stream
    log : Log
        Takes every line, whatever the stream gets, and says whether that is JSON; a terminal has no live line then.
    seconds, rows : dict
        Of each stage that has ended.
    at : str
        The stage at work; empty outside of one.
    buckets : dict
        By stage, the largest bucket of its shuffles: `bucket_rows` and `bucket_bytes`.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    log: Log = field(default_factory=Log)
    at: str = ""
    buckets: dict[str, dict[str, int]] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage from its start to its end."""
        tally.reset()
        begin = time.monotonic()
        done = threading.Event()
        live = self._live
        self.at = name
        ticker = threading.Thread(target=self._tick, args=(name, begin, done, live), daemon=True)
        self._say("started", f"{name}: started", silent=live)
        ticker.start()
        failed = True
        try:
            yield
            failed = False
        finally:
            done.set()
            ticker.join()
            self.seconds[name], self.rows[name] = time.monotonic() - begin, tally.rows()
            text = self._text(name, begin)
            told = (self.rows[name], self.seconds[name])
            if failed:
                self._say("failed", f"{name}: failed after {self.seconds[name]:.1f} s", *told, over=live)
            else:
                self._say("finished", text, *told, over=live)
            self.at = ""

    def largest(self, name: str, value: int) -> None:
        """Note how large a bucket of the stage at work is."""
        held = self.buckets.setdefault(self.at, {})
        held[name] = max(held.get(name, 0), value)

    def note(self, text: str) -> None:
        """A line of its own."""
        self._say("note", text, over=self._live)

    @property
    def _live(self) -> bool:
        return not self.log.as_json and self.stream.isatty()

    def _tick(self, name: str, begin: float, done: threading.Event, live: bool) -> None:
        while not done.wait(_LIVE_S if live else _LOG_S):
            text = self._text(name, begin)
            if live:
                with suppress(OSError, ValueError):
                    self.stream.write(f"\r\x1b[2K{text} ...")
                    self.stream.flush()
            else:
                self._say("running", f"{text}, still running", tally.rows(), time.monotonic() - begin)

    def _text(self, name: str, begin: float) -> str:
        elapsed = time.monotonic() - begin
        rows, phase = tally.rows(), tally.phase()
        if phase:
            return f"{name}: {elapsed:.1f} s, {phase}"
        done = f", {rows:,} rows" if rows else ""
        rate = f", {rows / elapsed:,.0f} rows/s" if rows >= _RATED_FROM and elapsed > 0 else ""
        return f"{name}: {elapsed:.1f} s{done}{rate}"

    def _say(
        self,
        event: str,
        text: str,
        rows: int | None = None,
        seconds: float | None = None,
        over: bool = False,
        silent: bool = False,
    ) -> None:
        line = self.log.line(self.at, event, text, rows, seconds)
        if silent:
            return
        # A log that nobody reads any more must not end the run.
        with suppress(OSError, ValueError):
            self.stream.write(("\r\x1b[2K" if over else "") + (line if self.log.as_json else text) + "\n")
            self.stream.flush()
