"""Write one Parquet file a bucket, with its checksum. Running twice writes the same bytes to the same name."""

from __future__ import annotations

import pyarrow as pa

from pipeline import storage
from schemas import Record


def bucket_path(folder: str, bucket: int) -> str:
    """Path of a bucket's file."""
    return storage.join(folder, f"bucket-{bucket:05d}.parquet")


def write_bucket(folder: str, bucket: int, table: pa.Table, record: Record) -> str:
    """Write a bucket's rows under its record's schema; gives the path."""
    path = bucket_path(folder, bucket)
    storage.write_record(path, table, record)
    return path
