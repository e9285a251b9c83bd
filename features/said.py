"""The words about a turn that models over words read: the user's, the system's answer, and the user's next.

They leave the signals as a record of their own (`schemas.SAID`), with the marks that are reactions; `features.texts`
holds the texts that the signals themselves are made from.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import strings
from features.text import distinct, flat, normalise
from schemas import SAID

# Columns of a turn that the words are taken from.
READS: Final = ("turn_id", "utterance", "response")
# Kept as words: a question back and an outcry are reactions.
MARKS: Final = "?!"


def said(turns: pa.Table, signals: pa.Table) -> pa.Table:
    """Said rows of turns.

    Parameters
    ----------
    turns : pyarrow.Table
        n Turn rows in the total order, at least the columns of `READS`.
    signals : pyarrow.Table
        Their Signals rows in the same order; `session_id` and `turns_before` are read. A turn of the session that is
        not among the rows is not said to follow: its words are not to be seen.
    """
    utterance = normalise(distinct(turns["utterance"]), MARKS)
    following = next_rows(signals)
    columns = {
        "turn_id": flat(turns["turn_id"]),
        "utterance": utterance,
        "answer": normalise(distinct(turns["response"]), MARKS),
        "reaction": utterance.take(pa.array(following, mask=following < 0)),
    }
    return pa.table({name: columns[name] for name in SAID.names})


def next_rows(signals: pa.Table) -> npt.NDArray[np.int64]:
    """Row of each turn's next one in its session, shape (n,); -1 = last, or not among the rows."""
    n = signals.num_rows
    session = strings(signals["session_id"])
    position = signals["turns_before"].to_numpy()
    out = np.full(n, -1, np.int64)
    follows = np.flatnonzero((session[1:] == session[:-1]) & (np.diff(position) == 1))
    out[follows] = follows + 1
    return out
