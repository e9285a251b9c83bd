"""Reformulations: from which turn a user went on to which, and how each request ended.

The edges of the reformulation chain (Ponnusamy et al. 2019, arXiv 1911.02557), read off the signals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.asked import REPHRASE_LIKENESS
from features.hashing import strings
from features.language import Languages
from features.lexicon import DIALOG_ACTS, USER_ACTS, named
from features.rephrase import REPHRASE_GAP_S
from features.text import flat, is_true
from models.labelling import RATED_HIGH, RATED_LOW
from models.leading import NOTHING
from schemas.chain import FAILURE, SUCCESS

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# What is read off each turn.
FLAGS: Final = (
    *DIALOG_ACTS,
    "corrects_next",
    "negates_next",
    "goes_back_next",
    "gives_up_next",
    "escalates_next",
    "thanks_next",
    "falls_back",
    "cannot_help",
    "hands_off",
    "outcome_failed",
    "abandoned",
)
NUMBERS: Final = ("gap_after", "rephrase_best", "rephrase_offset", "confirmation", "explicit_rating", "turns_before")
READS: Final = ("session_id", "intent", "utterance_id", *FLAGS, *NUMBERS)


@dataclass(frozen=True)
class Moves:
    """Where each request went. All arrays have shape (m,).

    Attributes
    ----------
    row : numpy.ndarray of int64
        Row of the request.
    following : numpy.ndarray of int64
        Row of its reformulation; -1 where the request ended.
    target : numpy.ndarray of int64
        What the reformulation was taken for; `SUCCESS` or `FAILURE` where the request ended.
    well : numpy.ndarray of bool
        The request, or the last one that reformulates it, ended well.
    """

    row: I64
    following: I64
    target: I64
    well: Mask


def moves(signals: pa.Table, reading: I64, spoken: Languages, gap: float = REPHRASE_GAP_S) -> Moves:
    """How each request went on.

    The next request that corrects it, else the most alike one in reach (`REPHRASE_LIKENESS`), else the one that
    follows a denial, reformulates a request, unless the user confirmed it, thanked for it or rated it high. A request
    without a reformulation ended: badly where the system failed it or the user denied it, gave up or left; else well.
    Acts of the dialog are no requests, and a turn of which nothing was made is no reformulation.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows of whole sessions in the total order, at least the columns of `READS`.
    reading : numpy.ndarray of int64, shape (n,)
        From `models.leading`.
    spoken : Languages
        Of the turns: whose lexicons name the intents that are acts.
    gap : float
        Seconds within which a correction, or the request after a denial, belongs to the request.
    """
    s = _columns(signals)
    intent = flat(signals["intent"])
    acts = is_true(spoken.columns(lambda words: {"is_act": named(intent, USER_ACTS, words)})["is_act"])
    acts |= (reading == NOTHING) & np.any([s[name] > 0 for name in DIALOG_ACTS], axis=0)
    request = ~acts
    following = _following(signals, s, request & (reading != NOTHING), request, gap)
    settled = (s["confirmation"] > 0) | (s["thanks_next"] > 0) | (s["explicit_rating"] >= RATED_HIGH)
    following = np.where(settled, -1, following)
    end = np.where(_failed(s) & ~settled, FAILURE, SUCCESS)
    target = np.where(following >= 0, reading[following], end)
    well = end[_last(following)] == SUCCESS
    row = np.flatnonzero(request)
    return Moves(row, following[row], target[row], well[row])


def _last(following: I64) -> I64:
    """Row of the last reformulation of each request, shape (n,); the way doubles at each step."""
    last = np.where(following >= 0, following, np.arange(len(following)))
    while not np.array_equal(further := last[last], last):
        last = further
    return last


def _columns(signals: pa.Table) -> dict[str, F64]:
    """Flags and numbers with NaN for null: a comparison with it is False."""
    return {name: signals[name].to_pandas().to_numpy(np.float64, na_value=np.nan) for name in FLAGS + NUMBERS}


def _following(signals: pa.Table, s: Mapping[str, F64], reformulates: Mask, request: Mask, gap: float) -> I64:
    """Row of each turn's reformulation; -1 where there is none."""
    session = strings(signals["session_id"])
    n = len(session)
    rows = np.arange(n)

    def ahead(offset: I64, wanted: Mask) -> I64:
        at = np.minimum(rows + offset, max(n - 1, 0))
        there = wanted & (session[at] == session) & (s["turns_before"][at] == s["turns_before"] + offset)
        return np.where(there & reformulates[at], at, -1)

    near = s["gap_after"] <= gap
    one, two = np.ones(n, np.int64), np.full(n, 2, np.int64)
    corrected = ahead(one, near & (s["corrects_next"] > 0))
    alike = ahead(np.nan_to_num(s["rephrase_offset"]).astype(np.int64), s["rephrase_best"] >= REPHRASE_LIKENESS)
    denied = near & ((s["negates_next"] > 0) | (s["goes_back_next"] > 0))
    denied &= ~np.append(request[1:], True)[:n] & np.append(near[1:], False)[:n]
    again = ahead(two, denied)
    return np.where(corrected >= 0, corrected, np.where(alike >= 0, alike, again))


def _failed(s: Mapping[str, F64]) -> Mask:
    """Whether a request without a reformulation ended badly."""
    flags = ("falls_back", "cannot_help", "hands_off", "outcome_failed", "abandoned")
    reactions = ("corrects_next", "negates_next", "goes_back_next", "gives_up_next", "escalates_next")
    bad = np.any([s[name] > 0 for name in flags + reactions], axis=0)
    return np.asarray(bad | (s["confirmation"] < 0) | (s["explicit_rating"] <= RATED_LOW), dtype=bool)
