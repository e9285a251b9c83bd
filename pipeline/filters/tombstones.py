"""Tombstones: who is forgotten, told by keyed hashes alone, so that neither a reader nor a leak learns who it was.

<out>/tombstones/key        the secret key, mode 0600, unless the configuration or the environment names another place
<out>/tombstones/macs.json  two HMAC-SHA256 a subject: of the subject id, which a log has, and of its pseudonym, which a
                            lineage has
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import pseudonyms
from features.text import flat
from pipeline import storage
from pipeline.errors import ConfigError
from schemas import CONVERSATION_SUBJECT

FORMAT: Final = "afterword-tombstones/1"
# Names the file of the key where the configuration does not.
KEY_VARIABLE: Final = "AFTERWORD_TOMBSTONE_KEY"
# As long as the hash: more would be hashed down, less would weaken it (RFC 2104).
_KEY_BYTES: Final = 32
# Marks what is hashed as no subject id: a user may be called as a pseudonym is.
_PSEUDONYM: Final = "pseudonym\x1f"
# What a key gives for this tells whether it is the one that the tombstones were made under.
_CHECKED: Final = "check\x1f" + FORMAT

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Tombstones:
    """The key and the hashes of all who are forgotten.

    Attributes
    ----------
    key : bytes
    held : dict
        Hash of the subject id to the hash of the pseudonym.
    """

    key: bytes = field(repr=False)
    held: dict[str, str]

    @property
    def macs(self) -> list[str]:
        """Hashes of the subject ids, sorted: what a release names."""
        return sorted(self.held)

    def mac(self, text: str) -> str:
        """HMAC-SHA256 (RFC 2104) of a text under the key, in hexadecimal."""
        return hmac.digest(self.key, text.encode("utf-8", "surrogatepass"), "sha256").hex()

    def mark(self, subjects: Iterable[str]) -> dict[str, str]:
        """The tombstones of some subjects."""
        ids = np.array(sorted(subjects), dtype=object)
        named = zip(ids.tolist(), pseudonyms(ids).tolist(), strict=True)
        return {self.mac(subject): self.mac(_PSEUDONYM + name) for subject, name in named}

    def is_forgotten(self, subjects: pa.Array) -> Mask:
        """Whose subject ids are forgotten, shape (n,); a null is nobody's."""
        return self._among(subjects, "", frozenset(self.held))

    def is_forgotten_pseudonym(self, names: pa.Array) -> Mask:
        """Whose pseudonyms are those of forgotten subjects, shape (n,)."""
        return self._among(names, _PSEUDONYM, frozenset(self.held.values()))

    def _among(self, texts: pa.Array, prefix: str, macs: frozenset[str]) -> Mask:
        """Each distinct text is hashed once."""
        distinct = texts.dictionary_encode()
        hit = [self.mac(prefix + text) in macs for text in distinct.dictionary.to_pylist()]
        found = pa.array(hit, pa.bool_()).take(distinct.indices)
        return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), dtype=bool)


@dataclass(frozen=True)
class TombstoneFiles:
    """Where an output folder's tombstones and their key lie. Workers are sent this, and never the key."""

    out: str
    key: str

    @property
    def macs(self) -> str:
        """Path of the hashes."""
        return storage.join(self.out, "tombstones", "macs.json")

    def load(self) -> Tombstones | None:
        """The tombstones; None where nobody was ever forgotten.

        Raises
        ------
        ConfigError
            If the key is missing or another one: nobody could be told apart, so nothing may be read.
        """
        if not storage.exists(self.macs):
            return None
        told = _told(self.macs)
        if not storage.exists(self.key):
            raise ConfigError(
                f"{self.key}: the key of the tombstones is missing, so nobody could tell who is forgotten and nothing "
                f"was read. Put it back, or name its place by [forget] key or {KEY_VARIABLE}"
            )
        found = Tombstones(_key(self.key), {t["subject"]: t["pseudonym"] for t in told["tombstones"]})
        if found.mac(_CHECKED) != told["key_check"]:
            raise ConfigError(f"{self.key}: not the key that {self.macs} was made under; put that one back")
        return found

    def open(self) -> Tombstones:
        """The tombstones, or none under a key that is made where there is none."""
        found = self.load()
        if found is not None:
            return found
        if not storage.exists(self.key):
            _make_key(self.key)
        return Tombstones(_key(self.key), {})

    def add(self, subjects: Iterable[str]) -> Tombstones:
        """Set the tombstones of some subjects; they are on the disk when this returns."""
        held = self.open()
        found = Tombstones(held.key, held.held | held.mark(subjects))
        rows = [{"subject": mac, "pseudonym": found.held[mac]} for mac in found.macs]
        told = {"format": FORMAT, "key_check": found.mac(_CHECKED), "tombstones": rows}
        storage.write_bytes(self.macs, storage.readable_json(told), durable=True)
        return found


def tombstone_files(out: str, key: str | None) -> TombstoneFiles:
    """Where the tombstones of an output folder are.

    Parameters
    ----------
    out : str
    key : str or None
        The configuration's `forget.key`; None = what the environment names, else the output folder's own.
    """
    named = key or os.environ.get(KEY_VARIABLE)
    return TombstoneFiles(out, named or storage.join(out, "tombstones", "key"))


def _told(path: str) -> dict[str, Any]:
    try:
        told = json.loads(storage.read_bytes(path))
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON ({error}); put it back from a copy") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ConfigError(f"{path}: format {FORMAT} is wanted; put it back from a copy")
    return told


def _key(path: str) -> bytes:
    text = storage.read_bytes(path).strip()
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) < _KEY_BYTES:
        raise ConfigError(f"{path}: a key of at least {_KEY_BYTES} bytes in hexadecimal is wanted")
    return key


def _make_key(path: str) -> None:
    """A new key that its owner alone may read, from the first moment on."""
    data = f"{secrets.token_hex(_KEY_BYTES)}\n".encode()
    if not storage.is_local(path):
        storage.write_bytes(path, data)
        return
    storage.make_folder(path.rpartition("/")[0] or ".")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def subject_of(conversation: str) -> str:
    """The subject id of a conversation in which no user is logged."""
    return f"{CONVERSATION_SUBJECT}{conversation}"


def forgotten_turns(turns: pa.Table, tombstones: Tombstones) -> Mask:
    """Turns of forgotten users and of forgotten conversations, shape (n,).

    Parameters
    ----------
    turns : pyarrow.Table
        `subject_id, conversation_id`.
    tombstones : Tombstones
    """
    conversation = pc.binary_join_element_wise(CONVERSATION_SUBJECT, flat(turns["conversation_id"]), "")
    whose = tombstones.is_forgotten(flat(turns["subject_id"]))
    return np.asarray(whose | tombstones.is_forgotten(conversation), dtype=bool)


def drop_forgotten(turns: pa.Table, gold: pa.Table, tombstones: Tombstones | None) -> tuple[pa.Table, pa.Table, int]:
    """What of a batch's turns and labels may be kept, and how many turns may not."""
    if tombstones is None or not turns.num_rows:
        return turns, gold, 0
    gone = forgotten_turns(turns, tombstones)
    if not gone.any():
        return turns, gold, 0
    ids = turns.filter(pa.array(gone))["turn_id"].combine_chunks()
    labels = gold.filter(pc.invert(pc.is_in(gold["turn_id"], value_set=ids)))
    return turns.filter(pa.array(~gone)), labels, int(gone.sum())
