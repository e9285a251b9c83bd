"""The canonical form: one Turn a line of JSON, or a row of Parquet, in the fields of `schemas.turn`."""
from typing import ClassVar
class CanonicalReader:
    name: ClassVar[str]="canonical"
    suffixes=(".jsonl",".parquet")
    zone=None
