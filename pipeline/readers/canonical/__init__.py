"""The canonical form: one Turn a line of JSON, or a row of Parquet, in the fields of `schemas.turn`."""

from __future__ import annotations

from pipeline.readers.canonical.reader import CanonicalReader

__all__ = ["CanonicalReader"]
