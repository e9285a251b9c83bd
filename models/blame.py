"""Which component a defect is attributed to (Falke and Lehnen 2021), by rules over what the turn's record shows."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.chain import Chain
from models.correction import Choice
from models.design import CandidateTable, frames, numbers

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Below this confidence the recogniser is blamed before the interpreter: at even odds the words themselves are in doubt.
ASR_DOUBT: Final = 0.5
# A second recognition that has this share of the best one's confidence puts the words in doubt too. This and the next
# were chosen on simulated traffic of another seed than the figures'.
ASR_RIVAL: Final = 0.7
# Share of the n-best's score that the readings of the leading one's frame have together, from which it is believed.
FRAME_BELIEVED: Final = 0.6


def blame(
    signals: pa.Table, table: CandidateTable, choice: Choice, is_defect: Mask, chain: Chain | None = None
) -> npt.NDArray[np.object_]:
    """The component to blame for each turn, one of `schemas.BLAMES`; `none` where it is not defective.

    In this order: the system said it cannot serve it and no reading is likelier: unsupported. The recogniser was in
    doubt: asr. There is no other reading: action. A likelier reading has the same frame (domain, intent and names of
    slots): slots; another: intent. None is likelier, so that the right one is not among them: slots where the
    readings of the leading frame have most of the score, else intent.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    table : CandidateTable
        The candidates of the defective turns at least.
    choice : Choice
        The best alternative of each turn.
    is_defect : numpy.ndarray of bool, shape (n,)
    chain : Chain, optional
        Whose readings are among the candidates.
    """
    frame = frames(signals, table, chain)
    leading = np.zeros(signals.num_rows, np.int64)
    leading[table.turn[table.is_top]] = frame[table.is_top]
    has = choice.row >= 0
    same = np.zeros(len(has), bool)
    same[has] = frame[choice.row[has]] == leading[has]
    share = _share(table, frame == leading[table.turn], len(has))
    # Without scores there is no share, and the alternative alone tells.
    alone = (choice.margin > 0) | np.isnan(share)
    slots = np.where(alone, same, share >= FRAME_BELIEVED)
    refused = (numbers(signals["cannot_help"]) > 0) & ~(choice.margin > 0)
    names = np.select(
        [~is_defect, refused, _misheard(signals), ~has, slots],
        ["none", "unsupported", "asr", "action", "slots"],
        "intent",
    )
    return names.astype(object)


def _misheard(signals: pa.Table) -> Mask:
    """Where the recogniser's best hypothesis is in doubt by itself, or by another nearly as likely."""
    confidence, lead = numbers(signals["asr_confidence"]), numbers(signals["asr_margin"])
    return np.asarray((confidence < ASR_DOUBT) | (confidence - lead >= ASR_RIVAL * confidence), dtype=bool)


def _share(table: CandidateTable, of_leading: Mask, turns: int) -> F64:
    """Share of the score that the turn's own readings of the leading frame have; NaN without scores."""
    own = of_leading & (table.offset == 0)
    share = np.where(own, table.evidence[:, table.names.index("share")], 0.0)
    return np.asarray(np.bincount(table.turn, weights=share, minlength=turns), dtype=np.float64)
