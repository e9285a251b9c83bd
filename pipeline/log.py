"""What a run says, as JSON: one object a line, on standard error where that is wished, and always kept with the run."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from pipeline.errors import ConfigError

NAME: Final = "log.jsonl"
VARIABLE: Final = "AFTERWORD_LOG_FORMAT"
FORMATS: Final = ("text", "json")


def log_format(wished: str | None) -> str:
    """`text` or `json`: what is wished, else what the environment says.

    Raises
    ------
    ConfigError
        If the environment names neither.
    """
    found = wished or os.environ.get(VARIABLE) or FORMATS[0]
    if found not in FORMATS:
        raise ConfigError(f"{VARIABLE}={found}: {' or '.join(FORMATS)} is wanted")
    return found


@dataclass
class Log:
    """Lines of one run.

    Attributes
    ----------
    run_id : str
        Stands in every line.
    path : str or None
        File that is written anew with each event, as stores cannot append; None = none is kept.
    as_json : bool
        Whether people are shown the lines too, in the place of text.
    before : list of str
        Lines that earlier commands of the run left there.
    """

    run_id: str = ""
    path: str | None = None
    as_json: bool = False
    lines: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)

    def begin(self, run_id: str, folder: str) -> None:
        """Keep the lines of a run in its folder, after those that are there; of one command at a time."""
        from pipeline import storage  # as below

        path = storage.join(folder, NAME)
        if path != self.path:
            self.run_id, self.path, self.before = run_id, path, storage.read_lines(path)

    def finished(self) -> dict[str, tuple[float, int]]:
        """Seconds and rows of each stage that has ended well, as the last command of the run that ran it says."""
        told = [json.loads(line) for line in [*self.before, *self.lines]]
        return {line["stage"]: (line["seconds"], line["rows"]) for line in told if line["event"] == "finished"}

    def line(
        self,
        stage: str,
        event: str,
        message: str,
        rows: int | None = None,
        seconds: float | None = None,
        exit_code: int | None = None,
    ) -> str:
        """One event as a line of JSON; kept, unless it only says that a stage is still at work.

        Parameters
        ----------
        stage : str
            Empty outside of one.
        event : str
            `started`, `running`, `finished`, `failed` or `note`.
        message : str
            What the text form says.
        rows : int, optional
            Since the stage began.
        seconds : float, optional
            The same.
        exit_code : int, optional
            That the command ends with.
        """
        told: dict[str, object] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "run_id": self.run_id or None,
            "stage": stage or None,
            "event": event,
            "rows": rows,
            "seconds": None if seconds is None else round(seconds, 3),
            "message": message,
        }
        if exit_code is not None:
            told["exit_code"] = exit_code
        text = json.dumps(told, ensure_ascii=False)
        if event != "running":
            self.lines.append(text)
            self._keep()
        return text

    def said(self, event: str, message: str, exit_code: int | None = None) -> str:
        """One event outside of a stage, kept; gives it as people are shown it."""
        line = self.line("", event, message, exit_code=exit_code)
        return line if self.as_json else message

    def _keep(self) -> None:
        from pipeline import storage  # imports Beam, which --help does without

        # A full disk must not hide what it broke.
        with suppress(OSError):
            if self.path is not None:
                text = "".join(f"{line}\n" for line in [*self.before, *self.lines])
                storage.write_bytes(self.path, text.encode("utf-8"))


_current = Log()


def begin(wished: str | None) -> None:
    """Begin the log of a command.

    Raises
    ------
    ConfigError
        If the environment names no form.
    """
    global _current
    _current = Log()
    _current.as_json = log_format(wished) == "json"


def current() -> Log:
    """The log of the command at work."""
    return _current
