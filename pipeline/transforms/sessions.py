"""Work on a bucket's rows, whole sessions at a time; a bucket that stands out is shared out.

A bucket is one call's work, whose rows are put through piece by piece. One that is much larger than others, as with a
user of very many turns, would be worked on alone when all others are done. It is cut instead: its pieces lie in files
meanwhile, are worked on wherever there is room, and a last call puts what was made of them together, in their order.
"""

from __future__ import annotations

import copy
import pickle
import statistics
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from pipeline import processes, tally
from pipeline.transforms.shuffle import read_piece, write_piece
from pipeline.transforms.threads import SideBySide

# Tags of counts, and of the pieces of large buckets.
COUNTS, CUT = "counts", "cut"
# Turns that a call works on at once: what the kernels hold on the way is many times the rows themselves.
PIECE_ROWS: Final = 25_000
# Of so many times the bytes of the one in the middle, a bucket stands out: hashing makes none so large of many users.
_STANDS_OUT: Final = 2

Tables = tuple[pa.Table, ...]
# Bucket, number of the piece in it, and paths of its tables.
Piece = tuple[int, tuple[int, Iterable[str]]]


def pieces(session: npt.NDArray[Any], rows: int = PIECE_ROWS) -> Iterator[tuple[int, int]]:
    """Cut rows into (start, length) pieces of about `rows`, never through a session; no kernel looks beyond one.

    Parameters
    ----------
    session : numpy.ndarray, shape (n,)
        Number or id of each row's session; its rows stand together.
    rows : int
        A piece is closed by the first change of session after so many rows.
    """
    changes = np.flatnonzero(session[1:] != session[:-1]) + 1
    start = 0
    while start < len(session):
        later = np.searchsorted(changes, start + rows)
        end = int(changes[later]) if later < len(changes) else len(session)
        yield start, end - start
        start = end


def large(sizes: Mapping[int, int], at_once: int) -> frozenset[int]:
    """Buckets to be shared out: those that stand out, and all where there are fewer than are worked on at once.

    Parameters
    ----------
    sizes : mapping
        Bucket to bytes.
    at_once : int
        Buckets that one worker has in hand.
    """
    if len(sizes) < at_once:
        return frozenset(sizes)
    limit = _STANDS_OUT * statistics.median_low(sizes.values())
    return frozenset(bucket for bucket, size in sizes.items() if size > limit)


@dataclass(frozen=True)
class Sharing:
    """How the work is shared out.

    Attributes
    ----------
    large : frozenset of int
        Buckets to be cut.
    spill : str
        Where their pieces lie meanwhile; the caller removes it.
    threads : int
        What a worker works on at once.
    """

    large: frozenset[int]
    spill: str
    threads: int


class SessionWork(SideBySide):
    """What is done with each bucket; a subclass reads it, works on whole sessions, and writes. For `OverSessions`."""

    def __init__(self, sharing: Sharing) -> None:
        super().__init__(sharing.threads)
        self._sharing, self._step = sharing, "work"

    def read(self, bucket: int) -> tuple[Tables, npt.NDArray[Any]]:
        """A bucket's tables, of the same rows in order, and the number or id of each row's session."""
        raise NotImplementedError

    def of_rows(self, tables: Tables) -> list[Any]:
        """What a bucket gives by its rows as they were read."""
        return []

    def kernel(self, tables: Tables) -> Tables:
        """What is made of whole sessions."""
        raise NotImplementedError

    def write(self, bucket: int, made: Tables) -> list[Any]:
        """Write what was made of all sessions of a bucket, in their order; gives the counts."""
        raise NotImplementedError

    def work(self, bucket: int) -> list[Any]:
        """One bucket, or what a large one is cut into."""
        tables, session = self.read(bucket)
        cuts = list(pieces(session, PIECE_ROWS))
        parts = (tuple(table.slice(*cut).combine_chunks() for table in tables) for cut in cuts)
        if bucket in self._sharing.large and len(cuts) > 1:
            done = [TaggedOutput(CUT, self._put(bucket, number, part)) for number, part in enumerate(parts)]
        else:
            done = self.write(bucket, _together(map(self._made, parts)))
        return [*done, *self.of_rows(tables)]

    def work_piece(self, piece: Piece) -> list[Piece]:
        """Make what is made of a piece; gives where it lies."""
        bucket, (number, paths) = piece
        return [self._put(bucket, number, self._made(_read(paths)))]

    def put_together(self, bucket: int, made: list[tuple[int, Iterable[str]]]) -> list[Any]:
        """Put what was made of a large bucket's pieces together."""
        return self.write(bucket, _together(_read(paths) for _, paths in sorted(made)))

    def at(self, step: str) -> SessionWork:
        """The same, for another step: the name of one of the three methods above."""
        other = copy.copy(self)
        other._step, other._far = step, deque()
        return other

    def setup(self) -> None:
        """Every step sends the processes the same object, so that they load once."""
        self._task = pickle.dumps(self.at("work")) if processes.number() else None

    def process(self, element: Any) -> Iterator[Any]:
        """Begin an element of the step."""
        if self._step == "put_together":
            bucket, made = element
            yield from self.begin(self.put_together, bucket, list(made))
        else:
            yield from self.begin(getattr(self, self._step), element)

    def _made(self, tables: Tables) -> Tables:
        made = self.kernel(tables)
        tally.add(tables[0].num_rows)
        return made

    def _put(self, bucket: int, number: int, tables: Tables) -> Piece:
        return bucket, (number, [write_piece(self._sharing.spill, bucket, table) for table in tables])


def _together(made: Iterable[Tables]) -> Tables:
    return tuple(pa.concat_tables(tables) for tables in zip(*made, strict=True))


def _read(paths: Iterable[str]) -> Tables:
    return tuple(read_piece(path) for path in paths)


class OverSessions(beam.PTransform):
    """Bucket numbers to what a `SessionWork` writes of them; gives its counts, under the tag `COUNTS`.

    Parameters
    ----------
    work : SessionWork
    *tags : str
        Of what else it gives by rows.
    """

    def __init__(self, work: SessionWork, *tags: str) -> None:
        super().__init__()
        self._work, self._tags = work, tags

    def expand(self, numbers: beam.PCollection) -> dict[str, beam.PCollection]:
        """Build the graph."""
        done = numbers | "Buckets" >> beam.ParDo(self._work).with_outputs(CUT, *self._tags, main=COUNTS)
        work_piece = beam.ParDo(self._work.at("work_piece")).with_output_types(Piece)
        put_together = beam.ParDo(self._work.at("put_together")).with_output_types(pa.Table)
        made = done[CUT] | beam.Reshuffle() | "Pieces" >> work_piece
        large = made | beam.GroupByKey() | "Together" >> put_together
        return {COUNTS: (done[COUNTS], large) | beam.Flatten(), **{tag: done[tag] for tag in self._tags}}
