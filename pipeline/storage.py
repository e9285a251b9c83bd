"""Files on any Beam file system. A write goes to a temporary name first, so a name holds a whole file or none.

What stages hand on is written with a checksum beside it and held to it where it is read (pipeline/checksums.py).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline import checksums
from schemas import Record

# Readers of a row group hold it whole; one of few rows costs more in its footer than it holds.
ROW_GROUP_BYTES: Final = 64 << 20
TEMPORARY: Final = ".tmp-"
_LENGTH_BYTES: Final = 4

# Some of Beam's file systems want options, whatever they say, and have none before the first pipeline.
if FileSystems._pipeline_options is None:
    FileSystems.set_options(PipelineOptions([]))


def is_local(path: str) -> bool:
    """Whether the path is on this machine's own file system."""
    return "://" not in path


def join(base: str, *parts: str) -> str:
    """Join path parts under any scheme."""
    return FileSystems.join(base, *parts)


def exists(path: str) -> bool:
    """Whether there is a file, or a folder; on a store without folders, anything below that name."""
    if FileSystems.exists(path):
        return True
    return not (is_local(path) or _has_folders(path)) and bool(FileSystems.match([join(path, "**")])[0].metadata_list)


def read_bytes(path: str) -> bytes:
    """The whole file, as stored."""
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        return bytes(stream.read())


def read_lines(path: str) -> list[str]:
    """Lines of a small file of text; none where there is no such file."""
    return [line for line in read_bytes(path).decode("utf-8").split("\n") if line] if exists(path) else []


def write_bytes(path: str, data: bytes, durable: bool = False) -> None:
    """Write a file under a temporary name that carries this attempt's id, then rename it.

    A durable one is on the disk before it has its name, and its name before this returns, so that no loss of power
    leaves a name without its content, or takes a name back that others were pointed to.
    """
    folder, name = FileSystems.split(path)
    make_folder(folder)
    temporary = join(folder, f"{TEMPORARY}{uuid.uuid4().hex}-{name}")
    if is_local(path):
        with Path(temporary).open("wb") as handle:
            handle.write(data)
            if durable:
                handle.flush()
                os.fsync(handle.fileno())
        os.replace(temporary, path)  # noqa: PTH105 - atomic, unlike FileSystems.rename onto an existing name
        if durable:
            _sync_folder(Path(path).parent)
        return
    if not data and path.startswith("s3://"):
        _write_nothing(path)
        return
    with FileSystems.create(temporary, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        stream.write(data)
    FileSystems.rename([temporary], [path])


def _write_nothing(path: str) -> None:
    """An empty file on S3: Beam's writer uploads in parts, of which an empty file has none, and S3 refuses that."""
    import boto3

    bucket, _, key = path.removeprefix("s3://").partition("/")
    boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=b"")


def _sync_folder(folder: Path) -> None:
    """Put a folder's names on the disk, and its own name in the folder above."""
    for each in (folder, folder.parent):
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(path: str) -> None:
    """Make a folder and its parents where there is none."""
    if is_local(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    elif _has_folders(path) and not FileSystems.exists(path):
        FileSystems.mkdirs(path)


def _has_folders(path: str) -> bool:
    """An object store has none, only names that begin alike."""
    return bool(FileSystems.get_filesystem(path).has_dirs())


def remove(path: str) -> None:
    """Remove a file or a folder with all in it; nothing happens where there is none."""
    if FileSystems.exists(path):
        FileSystems.delete([path])
    if not _has_folders(path):
        below = [m.path for m in FileSystems.match([join(path, "**")])[0].metadata_list]
        if below:
            FileSystems.delete(below)


def sweep(folder: str) -> None:
    """Remove all temporary files below: attempts that were killed left them. Nobody else may be writing there."""
    found = FileSystems.match([join(folder, "**")])[0].metadata_list
    left = [m.path for m in found if FileSystems.split(m.path)[1].startswith(TEMPORARY)]
    if left:
        FileSystems.delete(left)


def files(folder: str, pattern: str = "*") -> list[str]:
    """Paths of a folder's whole files that match, sorted; temporary ones are left out."""
    return sorted(sizes(folder, pattern))


def sizes(folder: str, pattern: str = "**") -> dict[str, int]:
    """Bytes of a folder's whole files that match, by path; temporary ones are left out."""
    found = FileSystems.match([join(folder, pattern)])[0].metadata_list
    kept = [m for m in found if not FileSystems.split(m.path)[1].startswith(TEMPORARY)]
    return {m.path: int(m.size_in_bytes) for m in kept}


def encode(table: pa.Table) -> bytes:
    """A table as Parquet: zstd, page index, no metadata that varies; the same bytes for the same table."""
    sink = io.BytesIO()
    bare = table.replace_schema_metadata(None)
    rows = max(1, bare.num_rows * ROW_GROUP_BYTES // max(content_bytes(bare), 1))
    with pq.ParquetWriter(sink, bare.schema, compression="zstd", write_page_index=True, store_schema=False) as writer:
        # A group at a time, as chunks are put together in a copy; a table of no rows has a group too.
        for start in range(0, max(bare.num_rows, 1), rows):
            writer.write_table(bare.slice(start, rows).combine_chunks(), row_group_size=rows)
    return sink.getvalue()


def content_bytes(table: pa.Table) -> int:
    """Bytes that a table's values take before compression, whatever the buffers that they lie in."""
    return sum(_value_bytes(column) for column in table.columns)


def _value_bytes(values: pa.Array | pa.ChunkedArray) -> int:
    """The same of one column: texts with 4 bytes of length, lists with 4 a row, everything else by its width."""
    kind = values.type
    if isinstance(values, pa.ChunkedArray):
        return sum(_value_bytes(chunk) for chunk in values.chunks)
    if pa.types.is_dictionary(kind):
        return _value_bytes(values.dictionary_decode())
    if pa.types.is_struct(kind):
        return sum(_value_bytes(pc.struct_field(values, [k])) for k in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _LENGTH_BYTES * len(values) + _value_bytes(values.flatten())
    if pa.types.is_null(kind):
        return 0
    if pa.types.is_primitive(kind):
        return len(values) * max(1, kind.bit_width // 8)
    return _LENGTH_BYTES * len(values) + (pc.sum(pc.binary_length(values)).as_py() or 0)


def write_table(path: str, table: pa.Table) -> None:
    """Write a table as Parquet."""
    write_bytes(path, encode(table))


def write_record(path: str, table: pa.Table, record: Record) -> None:
    """Write rows of a record as Parquet, and beside them the checksum that whoever reads them holds them to."""
    data = encode(record.conform(table))
    write_bytes(path, data)
    row = {"rows": table.num_rows, "bytes": len(data), "sha256": sha256(data), "schema": record.digest}
    write_bytes(checksums.sum_path(path), canonical_json(row))


def rewrite_table(path: str, table: pa.Table) -> None:
    """Write other rows in the place of a Parquet file; its checksum, if it has one, becomes theirs."""
    beside = checksums.sum_path(path)
    held = checksums.parse(path, read_bytes(beside)) if exists(beside) else None
    data = encode(table)
    if held is not None:
        # First, so that who is stopped between the two finds the old rows, and does both again.
        row = held | {"rows": table.num_rows, "bytes": len(data), "sha256": sha256(data)}
        write_bytes(beside, canonical_json(row))
    write_bytes(path, data)


def read_table(path: str, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file under a declared schema.

    Raises
    ------
    StageError
        If the file is not the one whose checksum lies beside it.
    ValueError
        If the file's columns are not the declared ones.
    """
    data = read_bytes(path)
    _hold(path, data)
    table = pq.read_table(pa.BufferReader(data), columns=columns)
    wanted = schema if columns is None else pa.schema([schema.field(c) for c in columns])
    try:
        return table.select(wanted.names).cast(wanted)
    except (KeyError, pa.ArrowInvalid, ValueError) as error:
        raise ValueError(f"{path}: not the schema that was declared for it ({error}); run the stage again") from None


def _hold(path: str, data: bytes) -> None:
    """Hold a file's bytes to its checksum, where it was written with one."""
    beside = checksums.sum_path(path)
    if exists(beside):
        checksums.check(path, len(data), sha256(data), read_bytes(beside))


def rows(path: str) -> int:
    """Rows of a Parquet file, by its footer."""
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        return int(pq.read_metadata(pa.PythonFile(stream, mode="r")).num_rows)


@contextmanager
def open_parquet(path: str, dictionary: tuple[str, ...] = (), whole: bool = False) -> Iterator[pq.ParquetFile]:
    """A Parquet file of which only some columns or row groups are wanted; texts of `dictionary` are held once each.

    One that is read `whole` is held to its checksum.
    """
    if whole:
        data = read_bytes(path)
        _hold(path, data)
        yield pq.ParquetFile(pa.BufferReader(data), read_dictionary=list(dictionary))
        return
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        yield pq.ParquetFile(pa.PythonFile(stream, mode="r"), read_dictionary=list(dictionary))


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and no spaces: equal values are equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def readable_json(value: Any) -> bytes:
    """JSON for people: sorted keys, indented, a line end at the end."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
