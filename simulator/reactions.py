"""What users do after an answer: shares of each move in each situation."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.options import Rates
from simulator.users import Users

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Move(IntEnum):
    """What the user says next. Those up to CORRECT are requests; the last ends the session."""

    REQUEST = 0
    AGAIN = 1
    REFINE = 2
    REPHRASE = 3
    REPEAT = 4
    CORRECT = 5
    DENY = 6
    AFFIRM = 7
    CANCEL = 8
    THANK = 9
    HUMAN = 10
    END = 11


class Situation(IntEnum):
    """How the user sees the last answer."""

    SERVED = 0
    WRONGED = 1
    FAILED = 2
    ASKED_RIGHT = 3
    ASKED_WRONG = 4
    SORRY = 5
    OVER = 6


_STUBBORN: Final = (Move.REPHRASE, Move.REPEAT, Move.CORRECT, Move.DENY)
# Of users whose patience ends, those who call it off aloud; the others leave.
_OFF_ALOUD: Final = 0.3
# Of wronged users who stay silent, those who go on to another wish; the others leave.
_GOES_ON: Final = 0.4
# Reactions to what is no misreading: an answer that failed, a question of the system, an apology. Most play along;
# some slip or leave.
_FAILED: Final = {Move.REPHRASE: 0.5, Move.REPEAT: 0.2, Move.CANCEL: 0.06, Move.HUMAN: 0.02, Move.REQUEST: 0.08}
_ASKED_RIGHT: Final = {Move.AFFIRM: 0.86, Move.REPHRASE: 0.03, Move.DENY: 0.01, Move.REQUEST: 0.03}
_ASKED_WRONG: Final = {
    Move.DENY: 0.5,
    Move.CORRECT: 0.2,
    Move.REPHRASE: 0.14,
    Move.CANCEL: 0.04,
    Move.AFFIRM: 0.02,
    Move.REQUEST: 0.03,
}
_SORRY: Final = {Move.REPHRASE: 0.55, Move.CORRECT: 0.1, Move.REPEAT: 0.1, Move.CANCEL: 0.06, Move.REQUEST: 0.06}
_OVER: Final = {Move.REQUEST: 0.2}


def shares(rates: Rates) -> F64:
    """Share of each move in each situation, shape (situations, moves); each row sums to 1."""
    table = np.zeros((len(Situation), len(Move)))
    served = {
        Move.REPHRASE: rates.rephrase_right,
        Move.AGAIN: rates.again,
        Move.REFINE: rates.refine,
        Move.THANK: rates.thank,
        Move.REQUEST: rates.next_goal,
    }
    wronged = {
        Move.REPHRASE: rates.rephrase,
        Move.REPEAT: rates.repeat,
        Move.CORRECT: rates.correct,
        Move.DENY: rates.deny,
        Move.CANCEL: rates.cancel,
        Move.HUMAN: rates.human,
    }
    rows = (served, wronged, _FAILED, _ASKED_RIGHT, _ASKED_WRONG, _SORRY, _OVER)
    for situation, row in zip(Situation, rows, strict=True):
        for move, share in row.items():
            table[situation, move] = share
    silent = 1.0 - table[Situation.WRONGED].sum()
    table[Situation.WRONGED, Move.REQUEST] = _GOES_ON * silent
    table[:, Move.END] += 1.0 - table.sum(axis=1)
    return table


def next_moves(table: F64, situation: I64, people: Users, at: I64, tries: I64, numbers: np.random.Generator) -> I64:
    """The next move of each of the users `at`.

    Parameters
    ----------
    table : numpy.ndarray
        From `shares`.
    situation : numpy.ndarray of int64, shape (n,)
    people : Users
    at : numpy.ndarray of int64, shape (n,)
        Their rows in `people`.
    tries : numpy.ndarray of int64, shape (n,)
        Times that the wish was tried.
    numbers : numpy.random.Generator
    """
    share = table[situation]
    wronged = situation == Situation.WRONGED
    aloud = list(range(Move.REPHRASE, Move.AFFIRM))
    share[np.ix_(wronged, aloud)] *= people.speaks_up[at[wronged], None]
    share[:, Move.THANK] *= people.polite[at]
    tired = (tries >= people.patience[at]) & (situation != Situation.SERVED)
    stubborn = list(_STUBBORN)
    given_up = share[np.ix_(tired, stubborn)].sum(axis=1)
    share[np.ix_(tired, stubborn)] = 0.0
    share[tired, Move.CANCEL] += _OFF_ALOUD * given_up
    share[:, Move.END] = np.maximum(1.0 - share[:, : Move.END].sum(axis=1), 0.0)
    cumulative = np.cumsum(share, axis=1)
    chance = numbers.random(len(at)) * cumulative[:, -1]
    chosen = np.minimum((cumulative <= chance[:, None]).sum(axis=1), Move.END)
    return np.asarray(chosen, dtype=np.int64)
