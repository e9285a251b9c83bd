"""The texts of evaluation sets: JSON lines, CSV, Parquet, or plain text with one a line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import storage
from pipeline.errors import InputError
from pipeline.inputs import find, unpacked
from pipeline.readers.stream import bare_suffix

SUFFIXES: Final = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".txt")
# Where texts stand in the evaluation sets that are published; a set with others names them.
TEXT_COLUMNS: Final = (
    "text",
    "utterance",
    "sentence",
    "query",
    "question",
    "prompt",
    "instruction",
    "input",
    "messages",
    "content",
    "response",
    "answer",
    "completion",
    "output",
    "chosen",
    "rejected",
)
_OPTION: Final = "curate.decontaminate"


@dataclass(frozen=True)
class EvaluationTexts:
    """All texts of the sets, file after file.

    Attributes
    ----------
    text : pyarrow.StringArray, shape (n,)
    file, row : numpy.ndarray of int64, shape (n,)
        Place in `inputs`, and the row there, from 1.
    inputs : list of dict
        uri, bytes and sha256 of each file.
    """

    text: pa.Array
    file: np.ndarray
    row: np.ndarray
    inputs: list[dict[str, Any]]

    def place(self, k: int) -> str:
        """Where a text stands, as file:row."""
        return f"{self.inputs[self.file[k]]['uri']}:{self.row[k]}"


def read_texts(pattern: str, columns: str | None) -> EvaluationTexts:
    """Read the texts of a file, a folder or a glob.

    Parameters
    ----------
    pattern : str
    columns : str or None
        Names, separated by commas; None = those of `TEXT_COLUMNS` that a file has.

    Raises
    ------
    InputError
        If nothing matches, a file cannot be read, or one has no such column.
    """
    wanted = tuple(c.strip() for c in columns.split(",")) if columns else TEXT_COLUMNS
    found = sorted(find(pattern, SUFFIXES, option=_OPTION).files, key=lambda file: (file[1], file[0]))
    texts: list[str] = []
    file, row, inputs = [], [], []
    for number, (path, uri, _) in enumerate(found):
        stored = storage.read_bytes(path)
        inputs.append({"uri": uri, "bytes": len(stored), "sha256": storage.sha256(stored)})
        seen = False
        for at, record in enumerate(_records(path, uri), start=1):
            held = [record] if isinstance(record, str) else [record[c] for c in wanted if c in record]
            seen |= bool(held)
            for text in _flatten(held):
                texts.append(text)
                file.append(number)
                row.append(at)
        if not seen:
            raise InputError(
                f"{_OPTION} {uri}: no column {', '.join(wanted)}{_named(path, uri)}; name its columns of text with "
                "curate.decontaminate_columns"
            )
    return EvaluationTexts(pa.array(texts, pa.string()), np.array(file, np.int64), np.array(row, np.int64), inputs)


def _named(path: str, uri: str) -> str:
    first = next(_records(path, uri), None)
    return f", found {', '.join(map(str, first))[:200]}" if isinstance(first, dict) else ", and it is empty"


def _flatten(values: list[Any]) -> Iterator[str]:
    """The texts in a value: a text, or the `content` of messages, or a list of either."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _flatten([value.get("content")])
        elif isinstance(value, list):
            yield from _flatten(value)


def _records(path: str, uri: str) -> Iterator[dict[str, Any] | str]:
    data, suffix = unpacked(path, f"{_OPTION} {uri}"), bare_suffix(path)
    if suffix == ".parquet":
        yield from _parquet(data, uri)
        return
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    if suffix in (".csv", ".tsv"):
        yield from csv.DictReader(text, delimiter="\t" if suffix == ".tsv" else ",")
    elif suffix == ".txt":
        yield from (line.rstrip("\r\n") for line in text)
    else:
        yield from _lines(text, uri)


def _lines(text: io.StringIO, uri: str) -> Iterator[dict[str, Any] | str]:
    for number, line in enumerate(text, start=1):
        try:
            record = json.loads(line) if line.strip() else {}
        except ValueError as error:
            raise InputError(f"{_OPTION} {uri}:{number}: not JSON ({error}); one object a line is wanted") from None
        if not isinstance(record, dict | str):
            raise InputError(f"{_OPTION} {uri}:{number}: {type(record).__name__}; one JSON object a line is wanted")
        yield record


def _parquet(data: bytes, uri: str) -> Iterator[dict[str, Any]]:
    try:
        table = pq.read_table(pa.BufferReader(data))
    except pa.ArrowException as error:
        raise InputError(f"{_OPTION} {uri}: not a Parquet file ({type(error).__name__})") from None
    for batch in table.to_batches():
        yield from batch.to_pylist()
