"""Turns as read to files of the shuffle, where they were read: between processes then only the files' names go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from pipeline.transforms.shuffle import KeyHash, spilled
from pipeline.transforms.superseding import DECIDES, marked

# Tags of the pieces: whole rows by subject, and by turn what decides which record of a turn_id stays.
ROWS, DECIDING = "rows", "deciding"
# By which key each is cut, and the folder of its files.
WAYS: Final = {ROWS: ("subject_id", "subject"), DECIDING: ("turn_id", "turn")}


def way(tag: str, buckets: int, spill: str) -> tuple[KeyHash, str]:
    """How the pieces of a tag are cut, and where their files lie."""
    key, name = WAYS[tag]
    return KeyHash(key, buckets), f"{spill}/{name}"


class Spread:
    """Cut turns by subject, and what decides about them by turn.

    Parameters
    ----------
    buckets : int
    folder : str
        Where the shuffles keep their files.
    """

    def __init__(self, buckets: int, folder: str) -> None:
        self._ways: Final = {tag: way(tag, buckets, folder) for tag in WAYS}

    def __call__(self, batches: Sequence[pa.Table]) -> list[TaggedOutput]:
        """The (bucket, path) of all pieces, tagged, of the turns of some batches."""
        found = [marked(turns) for turns in batches if turns.num_rows]
        if not found:
            return []
        rows = pa.concat_tables(found).combine_chunks()
        tables = {DECIDING: rows.select(DECIDES), ROWS: rows}
        return [TaggedOutput(tag, piece) for tag, held in self._ways.items() for piece in spilled(tables[tag], *held)]
