"""JSON as Arrow strings, a column at a time, with the bytes that `json.dumps(..., ensure_ascii=False)` would write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from features.text import flat

NULL: Final = "null"
# What a JSON string cannot hold as it is.
_ESCAPED: Final = r'["\\\x00-\x1f]'


def quoted(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Each text as a JSON string, shape (n,); null becomes the word `null`."""
    held = flat(texts)
    plain = pc.binary_join_element_wise('"', held, '"', "")
    special = pc.fill_null(pc.match_substring_regex(held, _ESCAPED), False)
    if pc.any(special).as_py():
        escaped = [json.dumps(text, ensure_ascii=False) for text in held.filter(special).to_pylist()]
        plain = pc.replace_with_mask(plain, special, pa.array(escaped, pa.string()))
    return plain.fill_null(NULL)


def scalars(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Each number or truth value as JSON, shape (n,); each distinct one is written once."""
    held = flat(values).dictionary_encode()
    texts = pa.array([json.dumps(value) for value in held.dictionary.to_pylist()], pa.string())
    return texts.take(held.indices).fill_null(NULL)


def listed(offsets: npt.NDArray[np.int64], entries: pa.Array, separator: str) -> pa.Array:
    """Entries of each of n lists joined, shape (n,). Offsets start at 0, shape (n + 1,)."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries), separator)


def arrays(lists: pa.ListArray) -> pa.Array:
    """Each list of texts as a JSON array, shape (n,); a null list becomes the word `null`."""
    texts = listed(list_offsets(lists), quoted(lists.flatten()), ", ")
    return pc.if_else(lists.is_valid(), pc.binary_join_element_wise("[", texts, "]", ""), NULL)


def objects(fields: Iterable[tuple[str, pa.Array]], colon: str = ": ", comma: str = ", ") -> pa.Array:
    """JSON objects of named JSON texts, in the order given, shape (n,)."""
    parts: list[pa.Array | str] = []
    before = "{"
    for name, texts in fields:
        parts += [f"{before}{json.dumps(name)}{colon}", texts]
        before = comma
    return pc.binary_join_element_wise(*parts, "}", "")
