"""Lines of JSON.

They are read in blocks by Arrow's C++ reader under the declared schema. In a block with unknown fields it passes over
them; each line is parsed once more for what goes to `extra`. A block that holds anything else out of the ordinary (a
line that is not JSON, a field of another type, invalid text) is read line by line, where each line either becomes a
turn or a dead letter.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.json as pj

from pipeline.readers.base import Batch
from pipeline.readers.canonical.extra import extra_of
from pipeline.readers.canonical.fields import FIELDS, finite, located
from pipeline.readers.canonical.line_by_line import line_by_line
from pipeline.readers.stream import Prefixed

BLOCK_BYTES: Final = 8 << 20


def lines(stream: Prefixed, uri: str) -> Iterator[Batch]:
    """Blocks of whole lines."""
    position, rest = 1, b""
    while block := stream.read(BLOCK_BYTES):
        block = rest + block
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if end:
            yield _block(block[:end], uri, position)
            position += block.count(b"\n", 0, end)
    if rest.strip():
        yield _block(rest + b"\n", uri, position)


def _block(block: bytes, uri: str, position: int) -> Batch:
    table = fast(block)
    if table is None:
        table = with_extra(fast(block, "ignore"), block)
    if table is None:
        return line_by_line(block, uri, position)
    return Batch(located(table, uri, pa.array(range(position, position + table.num_rows), pa.int64())))


def fast(block: bytes, unknown: str = "error") -> pa.Table | None:
    """All lines at once, or None where a line needs a closer look. An unknown field is an `error`, or one to `ignore`:
    never a type to be inferred, as inferring recurses, and deep nesting would end the process.
    """
    lines = block.count(b"\n")
    if not _one_object_a_line(block, lines) or (not block.isascii() and not _is_utf8(block)):
        return None
    try:
        table = pj.read_json(
            io.BytesIO(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(explicit_schema=FIELDS, unexpected_field_behavior=unknown),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    # Two objects on a line are more rows than lines.
    return table if table.num_rows == lines and table.schema.equals(FIELDS) and finite(table) else None


def with_extra(table: pa.Table | None, block: bytes) -> pa.Table | None:
    """The lines' turns with all that has no column in `extra`; None where a line needs a closer look."""
    if table is None:
        return None
    try:
        records = [_DECODER.decode(line) for line in block.decode().split("\n")[:-1]]
        extra = [extra_of(record, record.get("extra")) for record in records]
    except (ValueError, RecursionError):
        return None
    return table.set_column(table.column_names.index("extra"), "extra", pa.array(extra, pa.string()))


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


# Made once: `json.loads` makes one a call where anything is not as by default.
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def _one_object_a_line(block: bytes, lines: int) -> bool:
    """Every line begins with a brace and ends with one: no blank line, and no object goes on in the next line."""
    begins = block.startswith(b"{") + block.count(b"\n{")
    return begins == lines == block.count(b"}\n") + block.count(b"}\r\n")


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
