"""Search every file under an output folder for ids: what proves that nothing of a forgotten user is left.

An id that is no word of any text is looked for in all of a file. One that may be (`anna`) is looked for where names of
inputs and of their authors stand: in columns of ids, in names of files, and in what quotes those names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import pseudonyms
from pipeline import storage
from pipeline.lifecycle.listing import walk
from schemas import CONVERSATION_SUBJECT

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
# Columns that hold names of files that were read, at any depth; and keys of JSON that do, or hold a message that may.
_FILE_COLUMNS: Final = ("uri", "place", "of")
_QUOTING: Final = ("uri", "place", "where", "error", "message", "left_out")
# Folders below which this code gives all names, and not people.
_OWN_NAMES: Final = ("releases", "stages", "audits", "runs", "intervals", "forgotten", "tombstones")
# What an id is made of, in a text that quotes it.
_TOKEN: Final = re.compile(rb"[\w.:@+\-]+")
# A shorter id, or one that has neither a digit nor an @, is a word of any text.
_SHORTEST: Final = 4
# Even in a name of a file, a shorter id, or a number that has no more digits than this, is of many and names nobody.
_SHORTEST_WORD: Final = 3


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
    words : re.Pattern or None
        Ids of any form, users' and conversations', as whole words: for names of files and what quotes them.
    """

    cells: pa.Array
    tokens: frozenset[bytes]
    names: re.Pattern[bytes] | None
    words: re.Pattern[str] | None = None

    def in_name(self, text: str) -> bool:
        """Whether the name of a file, or a text that quotes one, holds one of them."""
        return self.in_bytes(text.encode()) or bool(self.words is not None and self.words.search(text))

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
    tokens = frozenset(i.encode() for i in turn_ids.to_pylist() if _is_distinct(i))
    return Sought(cells, tokens, pattern, _words(subjects))


def _words(subjects: list[str]) -> re.Pattern[str] | None:
    """What finds the ids of users and conversations as whole words; None where none of them is one."""
    ids = {text for name in subjects for text in (name, name.removeprefix(CONVERSATION_SUBJECT)) if _is_word(text)}
    told = "|".join(re.escape(name) for name in sorted(ids))
    return re.compile(rf"(?<![^\W_])(?:{told})(?![^\W_])") if told else None


def _is_distinct(name: str) -> bool:
    return len(name) >= _SHORTEST and any(c.isdigit() or c == "@" for c in name)


def _is_word(name: str) -> bool:
    return len(name) > _SHORTEST_WORD or (len(name) == _SHORTEST_WORD and not name.isdigit())


def files_with(folder: str, ids: Sought) -> list[str]:
    """Files below a folder that hold one of some ids: Parquet by its cells, others by their bytes; all by their names
    and by the names of files that they quote.
    """
    found, base = [], folder.rstrip("/") + "/"
    for entry in walk(folder):
        whole = not entry.path.rsplit("/", 1)[-1].startswith(".")
        look = in_table if entry.path.endswith(".parquet") and whole else quotes
        if look(entry.path, ids) or _is_named(entry.path[len(base) :], ids):
            found.append(entry.path)
    return found


def _is_named(path: str, ids: Sought) -> bool:
    """Whether a path inside the output folder has an id in it."""
    return ids.in_bytes(path.encode()) if path.split("/")[0] in _OWN_NAMES else ids.in_name(path)


def quotes(path: str, ids: Sought) -> bool:
    """Whether a file that is no table holds one of some ids, or if it is JSON quotes the name of a file that does."""
    data = storage.read_bytes(path)
    if ids.in_bytes(data):
        return True
    if ids.words is None or not path.endswith((".json", ".jsonl")):
        return False
    lines = data.splitlines() if path.endswith(".jsonl") else [data]
    return any(ids.in_name(text) for line in lines for text in _quoted(_parsed(line)))


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _quoted(told: Any, quoting: bool = False) -> Iterator[str]:
    """Texts that stand under a key that quotes."""
    if isinstance(told, str) and quoting:
        yield told
    elif isinstance(told, dict):
        for key, value in told.items():
            yield from _quoted(value, key in _QUOTING)
    elif isinstance(told, list):
        for value in told:
            yield from _quoted(value, quoting)


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
    if name in _FILE_COLUMNS:
        return any(ids.in_name(text) for text in distinct.drop_null().to_pylist())
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
