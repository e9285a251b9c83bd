"""Search every file under an output folder for ids: what proves that nothing of a forgotten user is left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import pseudonyms
from pipeline import storage
from pipeline.lifecycle.listing import walk

# Columns that hold ids, at any depth. A name among the words of a request is no id.
_ID_COLUMNS: Final = (
    "turn_id",
    "subject_id",
    "user_id",
    "conversation_id",
    "session_id",
    "turn_ids",
    "supporting_turns",
    "subjects",
    "conversations",
)
# What an id is made of, in a text that quotes it.
_TOKEN: Final = re.compile(rb"[\w.:@+\-]+")
# A shorter id, or one without a digit, is a word of any text; it is looked for in the columns of ids alone.
_SHORTEST: Final = 4


@dataclass(frozen=True)
class Sought:
    """Ids that are looked for.

    Attributes
    ----------
    cells : pyarrow.Array
        All of them, for columns of ids.
    tokens : frozenset of bytes
        Turn ids, as they stand in a text.
    names : re.Pattern or None
        Subjects and pseudonyms, wherever no letter or digit goes on; names of files are found so, too.
    """

    cells: pa.Array
    tokens: frozenset[bytes]
    names: re.Pattern[bytes] | None

    def in_bytes(self, data: bytes) -> bool:
        """Whether a text holds one of them."""
        if self.names is not None and self.names.search(data):
            return True
        return bool(self.tokens) and not self.tokens.isdisjoint(_TOKEN.findall(data))

    def turns(self, turn_ids: pa.Array) -> pa.Array:
        """Which of some turn ids are theirs: those that are known, and those that are made of a subject's id."""
        made = [i for i in turn_ids.to_pylist() if i and self.names is not None and self.names.search(i.encode())]
        known = turn_ids.filter(pc.is_in(turn_ids, value_set=self.cells))
        return pa.concat_arrays([known.cast(pa.string()), pa.array(made, pa.string())]).unique()


def sought(subjects: list[str], turn_ids: pa.Array) -> Sought:
    """What tells that something is of some subjects: their ids, their pseudonyms, and their turns' ids."""
    names = [*subjects, *pseudonyms(np.array(subjects, dtype=object)).tolist()]
    cells = pa.concat_arrays([pa.array(names, pa.string()), turn_ids.cast(pa.string())]).unique()
    told = sorted(re.escape(name.encode()) for name in names if _is_distinct(name))
    pattern = re.compile(rb"(?<![A-Za-z0-9])(?:" + b"|".join(told) + rb")(?![A-Za-z0-9])") if told else None
    return Sought(cells, frozenset(i.encode() for i in turn_ids.to_pylist() if _is_distinct(i)), pattern)


def _is_distinct(name: str) -> bool:
    return len(name) >= _SHORTEST and any(c.isdigit() for c in name)


def files_with(folder: str, ids: Sought) -> list[str]:
    """Files below a folder that hold one of some ids: Parquet by its cells, others by their bytes."""
    found = []
    for entry in walk(folder):
        whole = not entry.path.rsplit("/", 1)[-1].startswith(".")
        if entry.path.endswith(".parquet") and whole:
            held = in_table(entry.path, ids)
        else:
            held = ids.in_bytes(storage.read_bytes(entry.path))
        if held:
            found.append(entry.path)
    return found


def in_table(path: str, ids: Sought) -> bool:
    """Whether a Parquet file holds one of some ids: in a column of ids, or quoted in one of JSON."""
    with storage.open_parquet(path) as file:
        texts = [f.name for f in file.schema_arrow if _has_text(f.type)]
        for group in range(file.metadata.num_row_groups):
            table = file.read_row_group(group, columns=texts)
            for name, column in zip(table.column_names, table.columns, strict=True):
                if any(_holds(where, held, ids) for where, held in _texts(name, column.combine_chunks())):
                    return True
    return False


def _holds(name: str, texts: pa.Array, ids: Sought) -> bool:
    distinct = texts.unique().cast(pa.string())
    if name in _ID_COLUMNS:
        return bool(pc.any(pc.is_in(distinct, value_set=ids.cells)).as_py())
    quoting = distinct.filter(pc.fill_null(pc.match_substring_regex(distinct, r'^[\[{].*"'), False))
    return ids.in_bytes("\n".join(quoting.to_pylist()).encode())


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_text(kind.field(k).type) for k in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_dictionary(kind):
        return _has_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(name: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """All arrays of text that an array is made of, by the name that they go under."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield name, values
    elif pa.types.is_dictionary(kind):
        yield from _texts(name, values.dictionary)
    elif pa.types.is_struct(kind):
        for k, part in enumerate(values.flatten()):
            yield from _texts(kind.field(k).name, part)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _texts(name, values.flatten())
