"""Work on a bucket's rows, whole sessions at a time; a large bucket, as of a user of very many turns, is shared out.

A bucket is one call's work, whose rows are put through piece by piece. One of very many rows is cut instead: its pieces
lie in files meanwhile, are worked on wherever there is room, and a last call puts them together in their order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from pipeline import tally
from pipeline.transforms.shuffle import read_piece, write_piece
from pipeline.transforms.threads import SideBySide

# Tags of counts, and of the pieces of large buckets.
COUNTS, PIECES = "counts", "pieces"
# Turns that a call works on at once: what the kernels hold on the way is many times the rows themselves.
PIECE_ROWS: Final = 25_000
# A bucket of more is shared out.
LARGE_ROWS: Final = 4 * PIECE_ROWS

Tables = tuple[pa.Table, ...]
# Bucket, number of the piece in it, and paths of its tables.
Piece = tuple[int, tuple[int, Iterable[str]]]
Pieces = tuple[int, Iterable[tuple[int, Iterable[str]]]]


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


class OfSessions(SideBySide):
    """What is done with each bucket; a subclass reads it, works on whole sessions, and writes. For `OverSessions`.

    Parameters
    ----------
    spill : str
        Where the pieces of large buckets lie meanwhile; the caller removes it.
    threads : int
    """

    def __init__(self, spill: str, threads: int = 1) -> None:
        super().__init__(threads)
        self._spill = spill
        self._step = "work"

    def read(self, bucket: int) -> tuple[Tables, npt.NDArray[Any]]:
        """A bucket's tables, of the same rows in order, and the number or id of each row's session."""
        raise NotImplementedError

    def beside(self, tables: Tables) -> list[Any]:
        """What a bucket gives beside what is made of its sessions."""
        return []

    def kernel(self, tables: Tables) -> Tables:
        """What is made of whole sessions."""
        raise NotImplementedError

    def close(self, bucket: int, made: Tables) -> list[Any]:
        """Write what was made of all sessions of a bucket, in their order; gives the counts."""
        raise NotImplementedError

    def work(self, bucket: int) -> list[Any]:
        """One bucket, or what a large one is cut into."""
        tables, session = self.read(bucket)
        cuts = (_cut(tables, start, length) for start, length in pieces(session, PIECE_ROWS))
        if len(session) > LARGE_ROWS:
            done = [TaggedOutput(PIECES, self._put(bucket, number, cut)) for number, cut in enumerate(cuts)]
        else:
            done = self.close(bucket, _together(map(self._made, cuts)))
        return [*done, *self.beside(tables)]

    def work_piece(self, piece: Piece) -> list[Piece]:
        """Make what is made of a piece; gives where it lies."""
        bucket, (number, paths) = piece
        return [self._put(bucket, number, self._made(_read(paths)))]

    def put_together(self, whole: Pieces) -> list[Any]:
        """Put what was made of a large bucket's pieces together."""
        bucket, made = whole
        return self.close(bucket, _together(_read(paths) for _, paths in sorted(made)))

    def at(self, step: str) -> OfSessions:
        """The same, for another step: the name of one of the three methods above."""
        other = copy.copy(self)
        other._step = step
        return other

    def process(self, element: Any) -> Iterator[Any]:
        """Begin an element of the step."""
        yield from self.begin(getattr(self, self._step), element)

    def _made(self, tables: Tables) -> Tables:
        made = self.kernel(tables)
        tally.add(tables[0].num_rows)
        return made

    def _put(self, bucket: int, number: int, tables: Tables) -> Piece:
        return bucket, (number, [write_piece(self._spill, bucket, table) for table in tables])


def _listed(bucket: int, made: Iterable[tuple[int, Iterable[str]]]) -> Pieces:
    """A group as another process can be given it."""
    return bucket, list(made)


def _cut(tables: Tables, start: int, length: int) -> Tables:
    return tuple(table.slice(start, length).combine_chunks() for table in tables)


def _together(made: Iterable[Tables]) -> Tables:
    return tuple(pa.concat_tables(tables) for tables in zip(*made, strict=True))


def _read(paths: Iterable[str]) -> Tables:
    return tuple(read_piece(path) for path in paths)


class OverSessions(beam.PTransform):
    """Bucket numbers to what an `OfSessions` writes of them; gives its counts, under the tag `COUNTS`.

    Parameters
    ----------
    work : OfSessions
    *beside : str
        Tags of what it gives beside.
    """

    def __init__(self, work: OfSessions, *beside: str) -> None:
        super().__init__()
        self._work, self._beside = work, beside

    def expand(self, numbers: beam.PCollection) -> dict[str, beam.PCollection]:
        """Build the graph."""
        done = numbers | "Buckets" >> beam.ParDo(self._work).with_outputs(PIECES, *self._beside, main=COUNTS)
        worked = beam.ParDo(self._work.at("work_piece")).with_output_types(Piece)
        together = beam.ParDo(self._work.at("put_together")).with_output_types(pa.Table)
        pieces = done[PIECES] | beam.Reshuffle() | "Pieces" >> worked
        listed = beam.MapTuple(_listed).with_output_types(Pieces)
        large = pieces | beam.GroupByKey() | "List" >> listed | "Together" >> together
        return {COUNTS: (done[COUNTS], large) | beam.Flatten(), **{tag: done[tag] for tag in self._beside}}
