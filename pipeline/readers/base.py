"""What a reader is: one small module that turns a log file into Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar, Protocol

import pyarrow as pa

from schemas import ADVICE, DEAD_LETTER, GOLD, LOGGED_TURN, Reason


@dataclass
class Batch:
    """What a reader gives for a part of a file: turns, labels of people, and what it could not read."""

    turns: pa.Table = field(default_factory=LOGGED_TURN.empty)
    gold: pa.Table = field(default_factory=GOLD.empty)
    dead: pa.Table = field(default_factory=DEAD_LETTER.empty)
    replaced: int = 0

    @property
    def records(self) -> int:
        """Records found: turns and dead letters."""
        return int(self.turns.num_rows + self.dead.num_rows)


class Reader(Protocol):
    """Reads one format.

    A subclass names itself (`name`), the file endings it reads in a folder (`suffixes`, without compression), and the
    zone of its naive times (`zone`, None = naive times are refused).
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    zone: ClassVar[str | None]

    def read(self, stream: IO[bytes], uri: str) -> Iterator[Batch]:
        """Read an uncompressed stream from start to end.

        Parameters
        ----------
        stream : binary file
            Decompressed bytes; seekable only for formats that need it.
        uri : str
            Path relative to the input, for `source.uri`.
        """
        ...


def dead_letter(reason: Reason, uri: str, position: int, detail: str, record: object, field: str | None = None) -> dict[str, Any]:
    """One DeadLetter row. `record` is stored as its shape: no text of the user leaves through a dead letter."""
    return {
        "reason": str(reason),
        "field": field,
        "source": {"uri": uri, "position": position},
        "detail": f"{detail}; {ADVICE[reason]}",
        "record": json.dumps(shape(record), ensure_ascii=False, sort_keys=True),
    }


def shape(value: object) -> object:
    """A record's structure with every text replaced by its length."""
    if isinstance(value, dict):
        return {str(k): shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(v) for v in value[:20]] + ([f"and {len(value) - 20} more"] if len(value) > 20 else [])
    if isinstance(value, str | bytes):
        return f"<text of {len(value)}>"
    if isinstance(value, bool) or value is None:
        return value
    return f"<{type(value).__name__}>"
