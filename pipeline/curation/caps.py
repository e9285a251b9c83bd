"""Caps on what one user, intent or domain may have in train, and the sampling of confirmations.

All of it is for train alone: test shows what users say as often as they say it. Of those that compete, corrections go
first, then what more users support, then the more sure, then the lower hash of the example_id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import SEPARATOR, hash64, hash_texts, strings
from features.text import flat
from pipeline.curation.resolve import VERDICT, ranks, verdicts
from pipeline.curation.shingles import I64
from schemas import LeftOutReason

if TYPE_CHECKING:
    from pipeline.options import CurateOptions

READS: Final = ("example_id", "split", "kind", "domain", "intent", "support", "confidence", "provenance")
# What competes: groups as hashes, 0 = under no cap of that kind.
RIVAL: Final = pa.schema(
    [
        ("key", pa.int64()),
        ("user", pa.int64()),
        ("intent", pa.int64()),
        ("domain", pa.int64()),
        ("replay", pa.bool_()),
        ("rank", pa.int64()),
        ("confidence", pa.float64()),
        ("tie", pa.uint64()),
    ]
)


@dataclass(frozen=True)
class Caps:
    """How many examples of train are kept.

    Attributes
    ----------
    user : int or None
        Of those that one user alone supports.
    intent, domain : int or None
    power : float
        A confirmation's intent with n of them keeps floor * (n / floor) ** power; 1 = all.
    floor : int
        An intent with no more confirmations than this keeps all.
    """

    user: int | None
    intent: int | None
    domain: int | None
    power: float
    floor: int

    def __bool__(self) -> bool:
        """Whether anything is capped."""
        return self.power < 1.0 or any(cap is not None for cap in (self.user, self.intent, self.domain))


def caps_of(options: CurateOptions) -> Caps:
    """The caps of a configuration."""
    return Caps(
        options.max_per_user, options.max_per_intent, options.max_per_domain, options.replay_power, options.replay_floor
    )


def rivals(examples: pa.Table, key: I64) -> pa.Table:
    """RIVAL rows of the examples of train.

    Parameters
    ----------
    examples : pyarrow.Table
        n EXAMPLE rows, at least `READS`.
    key : numpy.ndarray of int64, shape (n,)
    """
    train = pc.equal(examples["split"], "train").to_numpy().astype(bool)
    examples, key = examples.filter(pa.array(train)), key[train]
    subjects = flat(pc.struct_field(flat(examples["provenance"]), "subjects"))
    sole = pc.equal(pc.list_value_length(subjects), 1).fill_null(False)
    only = pc.list_element(subjects.filter(sole), 0)
    user = np.zeros(len(key), np.int64)
    user[sole.to_numpy(zero_copy_only=False)] = hash_texts(only).view(np.int64)
    domain, intent = flat(examples["domain"]), flat(examples["intent"])
    named = pc.binary_join_element_wise(domain.fill_null(""), intent, SEPARATOR)
    kind = strings(examples["kind"])
    columns = {
        "key": key,
        "user": user,
        "intent": _hashes(named),
        "domain": _hashes(domain),
        "replay": kind == "confirmation",
        "rank": ranks(kind, examples["support"].to_numpy()),
        "confidence": examples["confidence"].to_numpy(),
        "tie": hash64(strings(examples["example_id"]), "afterword/caps01"),
    }
    return pa.table([pa.array(columns[n], f.type) for n, f in zip(RIVAL.names, RIVAL, strict=True)], schema=RIVAL)


def _hashes(names: pa.Array) -> I64:
    """Hash of each name, 0 where there is none."""
    return np.where(pc.is_valid(names).to_numpy(zero_copy_only=False), hash_texts(names).view(np.int64), 0)


def capped(rows: pa.Table, column: str, most: int | None, option: str) -> tuple[pa.Table, pa.Table]:
    """Whole groups cut to the best `most`: RIVAL rows that stay, and VERDICT rows of the others."""
    if most is None:
        return rows, VERDICT.empty_table()
    place, _ = _places(rows, column, np.ones(rows.num_rows, bool))
    return _cut(rows, place >= most, LeftOutReason.OVER_CAP, f"at most {most:,} a {column} (curate.{option})")


def sampled(rows: pa.Table, power: float, floor: int) -> tuple[pa.Table, pa.Table]:
    """Confirmations of whole intents, sampled: RIVAL rows that stay, and VERDICT rows of the others.

    An intent with n confirmations keeps max(floor, ceil(floor * (n / floor) ** power)) of them, so that a rare one
    keeps all and the share of a frequent one falls (exponential smoothing, as multilingual models sample languages).
    """
    if power >= 1.0:
        return rows, VERDICT.empty_table()
    place, many = _places(rows, "intent", rows["replay"].to_numpy())
    quota = np.maximum(np.ceil(np.round(floor * (np.maximum(many, 1) / floor) ** power, 9)), floor)
    detail = f"its intent keeps {floor:,} * (n / {floor:,}) ^ {power:g} of its n (curate.replay_power, replay_floor)"
    return _cut(rows, place >= quota, LeftOutReason.NOT_SAMPLED, detail)


def _places(rows: pa.Table, column: str, counted: npt.NDArray[np.bool_]) -> tuple[I64, I64]:
    """Each row's place among the counted rows of its group, from 0, and how many those are, shape (n,); -1 and 0 for
    rows that are not counted or have no group.
    """
    group = rows[column].to_numpy()
    counted = counted & (group != 0)
    at = np.flatnonzero(counted)
    tie, confidence, rank = (rows[n].to_numpy()[at] for n in ("tie", "confidence", "rank"))
    order = at[np.lexsort((tie, -confidence, rank, group[at]))]
    _, start, many = np.unique(group[order], return_index=True, return_counts=True)
    place, size = np.full(len(group), -1), np.zeros(len(group), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(start, many)
    size[order] = np.repeat(many, many)
    return place, size


def _cut(rows: pa.Table, out: npt.NDArray[np.bool_], reason: str, detail: str) -> tuple[pa.Table, pa.Table]:
    gone = rows["key"].filter(pa.array(out)).to_numpy()
    told = {"reason": pa.repeat(str(reason), len(gone)), "detail": pa.repeat(detail, len(gone))}
    return rows.filter(pa.array(~out)), verdicts(gone, **told)
