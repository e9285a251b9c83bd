"""Arrow tables as Beam elements: an IPC stream, which keeps the schema and copies no parent of a slice."""

from __future__ import annotations

import apache_beam as beam
import pyarrow as pa


class ArrowTableCoder(beam.coders.Coder):
    """Encodes a `pyarrow.Table` as one Arrow IPC stream."""

    def encode(self, value: pa.Table) -> bytes:
        """Table to bytes."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, value.schema) as writer:
            writer.write_table(value)
        return sink.getvalue().to_pybytes()

    def decode(self, encoded: bytes) -> pa.Table:
        """Bytes to table."""
        with pa.ipc.open_stream(pa.BufferReader(encoded)) as reader:
            return reader.read_all()

    def estimate_size(self, value: pa.Table) -> int:
        """Bytes of a table. Beam asks for it to fill its metrics, and by default encodes the table to find out."""
        return int(value.nbytes)

    def is_deterministic(self) -> bool:
        """The same table may come in other chunks, so it may not be a key."""
        return False

    def to_type_hint(self) -> type:
        """The element type."""
        return pa.Table


def register() -> None:
    """Make it the coder of every `pyarrow.Table` element. Without it Beam pickles tables, a slice with its parent."""
    beam.coders.registry.register_coder(pa.Table, ArrowTableCoder)
