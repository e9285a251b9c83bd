"""Edges of the reformulation chain: users counted by where they went, summed, and cut to what enough of them did."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import list_offsets
from features.language import Languages
from features.rephrase import REPHRASE_GAP_S
from features.text import flat
from models.folds import subject_folds
from models.leading import NOTHING
from models.reformulation import moves
from schemas.chain import EDGE, ELSEWHERE, FAILURE, SUCCESS

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ENDS: Final = (SUCCESS, FAILURE, ELSEWHERE)


def edges_of(
    signals: pa.Table,
    reading: I64,
    interpretations: pa.Array | pa.ChunkedArray,
    counted: Mask,
    spoken: Languages,
    folds: int,
    gap: float = REPHRASE_GAP_S,
) -> pa.Table:
    """EDGE rows of whole subjects' turns.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows in the total order, at least `subject_id` and the columns of `models.reformulation.READS`.
    reading : numpy.ndarray of int64, shape (n,)
        What each turn was taken for, from `models.leading`.
    interpretations : pyarrow.ListArray
        Of the turns, shape (n,).
    counted : numpy.ndarray of bool, shape (n,)
        Turns that may be counted; a move counts where both its ends do.
    spoken : Languages
        Of the turns.
    folds : int
    gap : float
        See `models.reformulation.moves`.
    """
    found = moves(signals, reading, spoken, gap)
    rows = np.flatnonzero(counted[found.row] & ((found.following < 0) | counted[found.following]))
    row = found.row[rows]
    subject = pd.factorize(strings(signals["subject_id"]))[0].astype(np.int64)
    return count_edges(
        subject=subject[row],
        fold=subject_folds(signals["subject_id"], folds)[row],
        words=signals["utterance_id"].fill_null(0).to_numpy()[row],
        reading=reading[row],
        target=found.target[rows],
        well=found.well[rows],
        meaning=_meanings(interpretations, found.following[rows]),
    )


def _meanings(interpretations: pa.Array | pa.ChunkedArray, following: I64) -> npt.NDArray[np.object_]:
    """What each reformulation was taken for, as JSON; None where there is none."""
    lists = flat(interpretations)
    has = np.flatnonzero(following >= 0)
    rows, inverse = np.unique(following[has], return_inverse=True)
    leads = lists.flatten().take(pa.array(list_offsets(lists)[rows]))
    texts = _texts(leads).dictionary_encode()
    # Few are distinct, and each becomes JSON once.
    _, first, which = np.unique(texts.indices.to_numpy(), return_index=True, return_inverse=True)
    told = np.array([_json(lead) for lead in leads.take(pa.array(first)).to_pylist()], dtype=object)
    out = np.full(len(following), None, dtype=object)
    out[has] = told[which[inverse]]
    return out


def _texts(interpretations: pa.StructArray) -> pa.StringArray:
    """Domain, intent and slots of each, apart where any of them differs; not the score and the spans."""
    slots = interpretations.field("slots")
    entries = slots.flatten()
    pairs = pc.binary_join_element_wise(*(entries.field(f).fill_null("\x00") for f in ("name", "value")), "\x1e")
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(list_offsets(slots), pa.int32()), pairs), "\x1d")
    head = (interpretations.field(f).fill_null("\x00") for f in ("domain", "intent"))
    return pc.binary_join_element_wise(*head, joined, "\x1f")


def _json(interpretation: dict[str, Any]) -> str:
    """An interpretation without its score and spans, which are of one turn; slots in order."""
    slots = sorted(
        (slot["name"] or "", slot["value"] or "", slot["name"], slot["value"]) for slot in interpretation["slots"] or []
    )
    held = [{"name": name, "value": value, "start": None, "end": None} for _, _, name, value in slots]
    meaning = {"domain": interpretation["domain"], "intent": interpretation["intent"], "slots": held}
    return json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def count_edges(
    subject: I64, fold: I64, words: I64, reading: I64, target: I64, well: Mask, meaning: npt.NDArray[np.object_]
) -> pa.Table:
    """EDGE rows of moves: distinct users of each, by words and reading and by reading alone.

    Parameters
    ----------
    subject, fold : numpy.ndarray of int64, shape (m,)
        Whose move, and their fold.
    words, reading, target : numpy.ndarray of int64, shape (m,)
        0 for words = none.
    well : numpy.ndarray of bool, shape (m,)
        It ended well at last.
    meaning : numpy.ndarray of object, shape (m,)
        The target's interpretation as JSON; None where it is an end.
    """
    moved = {"words": words, "reading": reading, "target": target, "fold": fold}
    frame = pd.DataFrame(moved | {"subject": subject, "well": well, "meaning": meaning})
    parts = [frame[frame["words"] != 0], frame[frame["reading"] != NOTHING].assign(words=0)]
    both = pd.concat(parts, ignore_index=True)
    keys = ["words", "reading", "target", "fold"]
    # A user whom it ended both ways with counts as the first time.
    grouped = both.drop_duplicates([*keys, "subject"]).groupby(keys, sort=True)["well"]
    users = grouped.size()
    # Readings with one id differ at most in letter case; the last by order has lower case.
    meant = both.dropna(subset=["meaning"]).groupby(keys, sort=True)["meaning"].max().reindex(users.index)
    index = users.index.to_frame(index=False)
    return _edges(index.assign(users=users.to_numpy(), well=grouped.sum().to_numpy(), interpretation=meant.to_numpy()))


def _edges(frame: pd.DataFrame) -> pa.Table:
    words = frame["words"].to_numpy(np.int64)
    columns = {name: pa.array(frame[name].to_numpy()) for name in ("reading", "target", "fold", "users", "well")}
    texts = frame["interpretation"].astype(object).where(frame["interpretation"].notna(), None)
    return EDGE.conform(
        pa.table(columns | {"words": pa.array(words, mask=words == 0), "interpretation": pa.array(texts, pa.string())})
    )


def add_edges(tables: list[pa.Table]) -> pa.Table:
    """Sum EDGE rows of distinct users; sorted by key. Keeps the form, so partial sums can be summed."""
    keys = list(EDGE.key)
    whole = pa.concat_tables([EDGE.empty(), *tables])
    summed = whole.group_by(keys, use_threads=False).aggregate(
        [("users", "sum"), ("well", "sum"), ("interpretation", "max")]
    )
    summed = summed.rename_columns([*keys, "users", "well", "interpretation"])
    return EDGE.conform(summed.sort_by([(key, "ascending") for key in keys]))


def known_edges(edges: pa.Table, min_users: int) -> pa.Table:
    """EDGE rows that the chain can use: of moves of too few users only the end is kept; starts by words without any
    other move are left out, and so are readings of too few users.

    Parameters
    ----------
    edges : pyarrow.Table
        All EDGE rows of their starts (words and reading).
    min_users : int
    """
    frame = edges.to_pandas()
    frame["words"] = edges["words"].fill_null(0).to_numpy()
    start = frame.groupby(["words", "reading"], sort=False)
    moved = ~frame["target"].isin(ENDS)
    few = moved & (frame.groupby(["words", "reading", "target"], sort=False)["users"].transform("sum") < min_users)
    total = start["users"].transform("sum")
    has_move = (moved & ~few).groupby([frame["words"], frame["reading"]], sort=False).transform("any")
    keep = np.where(frame["words"] != 0, has_move, total >= min_users)
    rare = frame[few & keep].assign(interpretation=None)
    well = rare.assign(target=ELSEWHERE, users=rare["well"])
    badly = rare.assign(target=FAILURE, users=rare["users"] - rare["well"], well=0)
    parts = [frame[~few & keep], well[well["users"] > 0], badly[badly["users"] > 0]]
    return add_edges([_edges(part) for part in parts])
