"""Rows that come in any order, put into files and an order that follow from the rows alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.warehouse.hashing import row_hashes, value_hashes

# Goes before the hash, so that of the records of one turn the later is read later.
_TIMES: Final = ("received_time", "event_time")
_ID: Final = "turn_id"
_FIRST, _SECOND = "afterword_first_hash", "afterword_second_hash"


class Sorter:
    """Spreads batches over parts, each a file of a work folder, and gives each part sorted.

    Memory holds one batch a thread, and later one part.
    """

    def __init__(self, folder: str, parts: int) -> None:
        self._paths = [Path(folder) / f"part-{number}.arrow" for number in range(parts)]
        self._writers: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.records = 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Spread one batch; may be called from several threads."""
        table = pa.Table.from_batches([batch])
        first, second = row_hashes(table)
        part = (_spread(table, first).view(np.uint64) % np.uint64(len(self._paths))).astype(np.int64)
        table = table.append_column(_FIRST, pa.array(first)).append_column(_SECOND, pa.array(second))
        pieces = [(number, table.filter(pa.array(part == number))) for number in np.unique(part).tolist()]
        with self._lock:
            self.records += table.num_rows
            for number, piece in pieces:
                self._writer(number, piece.schema).write_table(piece)

    def _writer(self, number: int, schema: pa.Schema) -> Any:
        if number not in self._writers:
            self._writers[number] = pa.ipc.new_stream(str(self._paths[number]), schema)
        return self._writers[number]

    def close(self) -> None:
        """All batches have been taken."""
        for writer in self._writers.values():
            writer.close()

    def tables(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The parts in turn, each in its order; one without rows is an empty table."""
        times = [name for name in _TIMES if name in schema.names and not pa.types.is_nested(schema.field(name).type)]
        for path in self._paths:
            if not path.exists():
                yield schema.empty_table()
                continue
            with pa.ipc.open_stream(str(path)) as stream:
                table = stream.read_all()
            path.unlink()
            keys = [(name, "ascending") for name in (*times, _FIRST, _SECOND)]
            yield table.take(pc.sort_indices(table, sort_keys=keys)).select(schema.names)


def _spread(table: pa.Table, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a row's part follows from: its turn_id, so that records of one turn are together, else the row."""
    if _ID not in table.column_names:
        return rows
    ids = table[_ID]
    return np.where(ids.is_valid().to_numpy(), value_hashes(ids), rows)
