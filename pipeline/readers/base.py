"""What a reader is: one small module that turns a log file into Arrow tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar, Final, Protocol

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

        Yields
        ------
        Batch
            Records in the order of the file. What stands at one position is of one batch: of two turns with one id the
            one read last stays, and within a record only the batch tells which that is.
        """
        ...


class Refused(Exception):
    """A record that cannot become a turn, with what its dead letter says."""

    def __init__(self, reason: Reason, detail: str, record: object, field: str | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.record, self.field = reason, detail, record, field


def parse(line: bytes) -> tuple[Any, bool]:
    """One line of JSON, and whether text in it had to be mended.

    Bytes that are not UTF-8 and lone surrogates, which an escape can hold but no encoder writes, become U+FFFD.
    `NaN`, which many writers give for a missing number, becomes null.

    Raises
    ------
    Refused
        If the line is not JSON, or holds a number that no double can.
    """
    try:
        text, mended = line.decode("utf-8"), False
    except UnicodeDecodeError:
        text, mended = line.decode("utf-8", errors="replace"), True
    try:
        value = _DECODER.decode(text)
        if "\\u" not in text:
            return value, mended
        clean = _without_surrogates(value)
    except _NotFinite:
        raise Refused(Reason.INVALID_FIELD, "a number that is not finite", line) from None
    except (ValueError, RecursionError) as error:
        # A JSONDecodeError says where, never what: it quotes nothing of the line.
        raise Refused(Reason.INVALID_JSON, str(error)[:200], line) from None
    return clean, mended or clean is not value


class _NotFinite(Exception):
    """Infinity, or a number as large."""


def _constant(name: str) -> None:
    if name != "NaN":
        raise _NotFinite


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _NotFinite
    return value


# Made once: `json.loads` makes one a call where anything is not as by default.
_DECODER: Final = json.JSONDecoder(parse_constant=_constant, parse_float=_float)


def _without_surrogates(value: Any) -> Any:
    """The value itself where it holds no lone surrogate, else a mended copy."""
    text = json.dumps(value, ensure_ascii=False)
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", errors="replace")
    return value if clean == text else json.loads(clean)


def dead_letter(
    reason: Reason, uri: str, position: int, detail: str, record: object, field: str | None = None
) -> dict[str, Any]:
    """One DeadLetter row. `record` is stored as its shape: no text of the user leaves through a dead letter."""
    return {
        "reason": str(reason),
        "field": field,
        "source": {"uri": uri, "position": position},
        "detail": f"{detail}; {ADVICE[reason]}",
        "record": json.dumps(shape(record), ensure_ascii=False, sort_keys=True),
    }


# Deeper structure says nothing of what is wrong, and hostile nesting must not end a run.
_SHAPE_DEPTH: Final = 8
_SHAPE_ITEMS: Final = 20
# What a field's name looks like; another key may be text of the user.
_NAME: Final = re.compile(r"[A-Za-z_][\w.:-]{0,63}", re.ASCII)


def shape(value: object, depth: int = _SHAPE_DEPTH) -> object:
    """A record's structure with every text, and every key that does not look like a name, replaced by its length."""
    if isinstance(value, str | bytes):
        return f"<text of {len(value)}>"
    if isinstance(value, bool) or value is None:
        return value
    if not isinstance(value, dict | list) or depth == 0:
        return f"<{type(value).__name__}>"
    more = [f"and {len(value) - _SHAPE_ITEMS} more"] if len(value) > _SHAPE_ITEMS else []
    if isinstance(value, list):
        return [shape(v, depth - 1) for v in value[:_SHAPE_ITEMS]] + more
    return {_key(k): shape(v, depth - 1) for k, v in value.items()}


def _key(key: object) -> str:
    text = str(key)
    return text if _NAME.fullmatch(text) else f"<key of {len(text)}>"
