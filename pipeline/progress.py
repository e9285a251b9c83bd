"""What a person sees while a stage runs: one live line on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TextIO

from pipeline import tally

_LIVE_S: Final = 0.2
_LOG_S: Final = 30.0
# The rate of fewer rows is that of starting up.
_RATED_FROM: Final = 10_000


@dataclass
class Progress:
    """Prints progress to a stream (standard error by default) and keeps each stage's seconds and rows."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    now: str = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage from its start to its end."""
        tally.reset()
        self.now = name
        begin = time.monotonic()
        done = threading.Event()
        live = self.stream.isatty()
        ticker = threading.Thread(target=self._tick, args=(name, begin, done, live), daemon=True)
        if not live:
            self._line(f"{name}: started")
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
            self._line(text if not failed else f"{name}: failed after {self.seconds[name]:.1f} s", over=live)

    def note(self, text: str) -> None:
        """A line of its own."""
        self._line(text, over=self.stream.isatty())

    def _tick(self, name: str, begin: float, done: threading.Event, live: bool) -> None:
        while not done.wait(_LIVE_S if live else _LOG_S):
            if live:
                with suppress(OSError, ValueError):
                    self.stream.write(f"\r\x1b[2K{self._text(name, begin)} ...")
                    self.stream.flush()
            else:
                self._line(f"{self._text(name, begin)}, still running")

    def _text(self, name: str, begin: float) -> str:
        elapsed = time.monotonic() - begin
        rows, phase = tally.rows(), tally.phase()
        if phase:
            return f"{name}: {elapsed:.1f} s, {phase}"
        done = f", {rows:,} rows" if rows else ""
        rate = f", {rows / elapsed:,.0f} rows/s" if rows >= _RATED_FROM and elapsed > 0 else ""
        return f"{name}: {elapsed:.1f} s{done}{rate}"

    def _line(self, text: str, over: bool = False) -> None:
        # A log that nobody reads any more must not end the run.
        with suppress(OSError, ValueError):
            self.stream.write(("\r\x1b[2K" if over else "") + text + "\n")
            self.stream.flush()
