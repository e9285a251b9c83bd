"""Stable keyed hashes: the same value gives the same hash on every machine, run and Python.

`pandas.util.hash_array` is SipHash-2-4 under a fixed 16-byte key; Python's own `hash()` is salted and never
used. Golden values are pinned in the tests.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from schemas.turn import CONVERSATION_SUBJECT

U64 = npt.NDArray[np.uint64]

_KEY: Final = "afterword/hash/1"
_SECOND_KEY: Final = "afterword/hash/2"
SEPARATOR: Final = "\x1f"
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def strings(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """Arrow strings, dictionary-encoded or not, as a NumPy object array; null becomes the empty string."""
    whole = values
    if isinstance(values, pa.ChunkedArray):
        whole = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    if not isinstance(whole, pa.DictionaryArray):
        return np.asarray(whole.fill_null("").to_numpy(zero_copy_only=False), dtype=object)
    texts = np.append(strings(whole.dictionary), "")
    return np.asarray(texts[whole.indices.fill_null(len(texts) - 1).to_numpy()], dtype=object)


def hash64(values: npt.NDArray[np.object_], key: str = _KEY) -> U64:
    """64-bit hash of each string, shape (n,). Hashing a repeated string again costs less than finding it again."""
    return np.asarray(pd.util.hash_array(values, hash_key=key, categorize=False), dtype=np.uint64)


def hash_texts(texts: pa.Array) -> U64:
    """64-bit hash of each Arrow string (null as the empty one), hashing each distinct text once, shape (n,).

    A dictionary-encoded array is taken as it is; its dictionary may hold a text twice.
    """
    held = texts if isinstance(texts, pa.DictionaryArray) else texts.fill_null("").dictionary_encode()
    hashes = hash64(np.append(strings(held.dictionary), ""))
    return np.asarray(hashes[held.indices.fill_null(len(hashes) - 1).to_numpy()], dtype=np.uint64)


def mix(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """One 64-bit hash of two, shape (n,): the finalizer of SplitMix64 (Steele, Lea and Flood 2014) over both."""
    z = first.view(np.uint64) * _ODD + second.view(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))).view(np.int64), dtype=np.int64)


def hash128_hex(values: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """128-bit hash of each string as 32 hexadecimal digits, shape (n,); for ids."""
    halves = zip(hash64(values).tolist(), hash64(values, _SECOND_KEY).tolist(), strict=True)
    return np.array([f"{a:016x}{b:016x}" for a, b in halves], dtype=object)


def pseudonyms(subjects: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Name of each subject that stands for its id in a lineage, 32 hexadecimal digits, shape (n,).

    Everybody who has the id can tell its name; nobody can tell the id from its name but by trying ids.
    """
    return hash128_hex(join(np.full(len(subjects), "subject", dtype=object), subjects))


def conversation_pseudonyms(conversations: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Name of each conversation id in a lineage, shape (n,): that of the subject which it stands for where no user is
    logged.
    """
    return pseudonyms(CONVERSATION_SUBJECT + conversations)


def hash_text(text: str) -> int:
    """64-bit hash of one string."""
    return int(hash64(np.array([text], dtype=object))[0])


def join(*parts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Element-wise join with a separator that no text holds (U+001F), for hashes over several fields."""
    out = parts[0]
    for part in parts[1:]:
        out = out + SEPARATOR + part
    return np.asarray(out, dtype=object)


def shares(hashes: U64) -> npt.NDArray[np.float64]:
    """Map hashes to [0, 1) by their 53 high bits: a stable stand-in for a uniform draw."""
    return (hashes >> np.uint64(11)).astype(np.float64) / float(1 << 53)
