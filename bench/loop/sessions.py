"""Users who talk to the NLU model: sessions in which a wrong turn may, or may not, leave a trace.

What a user does next depends on whether the turn was understood, and on nothing else:

- after a wrong turn the request is made again in other words (0.7, at most twice), with another real utterance of the
  same intent; or the answer is cut short by the next request, which is about something else (barge-in, 0.15); or
  nothing shows: the user takes it (and goes on, or leaves) or gives up. What is left of the 0.7 once somebody has said
  it twice more goes there too.
- after a right turn the next request is of the same intent in 15%; else another wish follows, or the session ends.

Each utterance of the traffic is said once, until the utterances of an intent are used up; then they come again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Habits:
    """What users do. Shares of turns unless another unit is named.

    Attributes
    ----------
    rephrase, barge_in : float
        Of wrong turns.
    most_rephrases : int
        Of one wish.
    same_intent : float
        Of right turns: the next request has the same intent.
    another : float
        Of turns after which neither of these came: another wish follows in the session.
    wronged_pause, served_pause : float
        Median seconds to the next request, in which the answer is heard: to say it again, and for a new wish.
    pause_spread : float
        Of the pause's logarithm.
    cut_short : float
        Of a pause that passes where the answer is cut short.
    turns_per_user : int
        On average.
    """

    rephrase: float = 0.7
    most_rephrases: int = 2
    barge_in: float = 0.15
    same_intent: float = 0.15
    another: float = 0.6
    wronged_pause: float = 6.5
    served_pause: float = 22.0
    pause_spread: float = 0.5
    cut_short: float = 0.5
    turns_per_user: int = 30


# Seconds: no pause in a session is longer, or it would end it; between sessions at least as much passes.
_LONGEST_PAUSE: Final = 240.0
_BETWEEN: Final = 3_600.0


@dataclass(frozen=True)
class Turns:
    """What was said, in order of sessions. All arrays have shape (n,).

    Attributes
    ----------
    row : numpy.ndarray of int64
        Row of the corpus that was said.
    user, session : numpy.ndarray of int64
    seconds : numpy.ndarray of float64
        From the start of the log.
    barge_in : numpy.ndarray of bool
        Whether the request cut the answer before it short.
    rephrased : numpy.ndarray of bool
        Truth, which no log shows: the next turn says it again.
    """

    row: I64
    user: I64
    session: I64
    seconds: F64
    barge_in: Mask
    rephrased: Mask

    def __len__(self) -> int:
        """Turns."""
        return len(self.row)


class _Supply:
    """The utterances of each intent, in random order; used up, they come again."""

    def __init__(self, rows: I64, label: I64) -> None:
        self._label = label
        self._of: dict[int, list[int]] = {}
        for row in rows.tolist():
            self._of.setdefault(int(label[row]), []).append(row)
        self._said: dict[int, int] = dict.fromkeys(self._of, 0)
        self._fresh = iter(rows.tolist())
        self._used: set[int] = set()

    def wish(self) -> int | None:
        """An utterance that nobody said yet; None once all were said."""
        row = next((r for r in self._fresh if r not in self._used), None)
        return None if row is None else self._say(row)

    def another(self, row: int) -> int:
        """Another utterance of the same intent; itself where the intent has no other."""
        held = self._of[int(self._label[row])]
        fresh = next((r for r in self._from(held) if r not in self._used), None)
        if fresh is not None:
            return self._say(fresh)
        label = int(self._label[row])
        self._said[label] += 1
        again = held[self._said[label] % len(held)]
        return held[(self._said[label] + 1) % len(held)] if again == row else again

    def _from(self, held: list[int]) -> list[int]:
        """The list from its first utterance that may be unused."""
        label = int(self._label[held[0]])
        while self._said[label] < len(held) and held[self._said[label]] in self._used:
            self._said[label] += 1
        return held[self._said[label] :]

    def _say(self, row: int) -> int:
        self._used.add(row)
        return row


def simulate(
    traffic: I64, label: I64, read: I64, seed: Sequence[int], habits: Habits | None = None, start: float = 0.0
) -> Turns:
    """Serve the traffic.

    Parameters
    ----------
    traffic : numpy.ndarray of int64
        Rows of the corpus, in the order in which users come to think of them.
    label : numpy.ndarray of int64, shape (rows of the corpus,)
        What each row means.
    read : numpy.ndarray of int64, shape (rows of the corpus,)
        What the NLU model takes it for.
    seed : sequence of int
    habits : Habits, optional
    start : float
        Seconds from the start of the log.
    """
    habits = habits or Habits()
    chance = np.random.default_rng([*seed, 3])
    supply = _Supply(traffic, label)
    users = max(1, len(traffic) // habits.turns_per_user)
    clock = start + chance.random(users) * _BETWEEN
    made: list[tuple[int, int, int, float, bool, bool]] = []
    session = 0
    while (wish := supply.wish()) is not None:
        user = int(chance.integers(users))
        clock[user] += _BETWEEN * (1.0 + chance.exponential())
        said = _session(wish, supply, label, read, chance, habits)
        for row, pause, cut, again in said:
            clock[user] += pause
            made.append((row, user, session, float(clock[user]), cut, again))
        session += 1
    columns = list(zip(*made, strict=True)) if made else [()] * 6
    types = (np.int64, np.int64, np.int64, np.float64, bool, bool)
    return Turns(*(np.array(c, t) for c, t in zip(columns, types, strict=True)))


def _session(
    wish: int, supply: _Supply, label: I64, read: I64, chance: np.random.Generator, habits: Habits
) -> list[tuple[int, float, bool, bool]]:
    """Row, seconds since the turn before, whether it cut the answer short, whether it is said again next."""
    said: list[tuple[int, float, bool, bool]] = []
    row: int | None = wish
    pause, cut, tries = 0.0, False, 0
    while row is not None:
        move = _move(bool(read[row] == label[row]), tries, chance, habits)
        said.append((row, pause, cut, move == "rephrase"))
        cut = move == "barge_in"
        pause = _pause(move, chance, habits)
        tries = tries + 1 if move == "rephrase" else 0
        follow: dict[str, Callable[[int], int | None]] = {
            "rephrase": supply.another,
            "same_intent": supply.another,
            "barge_in": lambda _: supply.wish(),
            "another": lambda _: supply.wish(),
            "end": lambda _: None,
        }
        row = follow[move](row)
    return said


def _move(right: bool, tries: int, chance: np.random.Generator, habits: Habits) -> str:
    """What the user does next."""
    draw = chance.random()
    if right:
        known = [("same_intent", habits.same_intent)]
    else:
        known = [("rephrase", habits.rephrase), ("barge_in", habits.barge_in)]
    for move, share in known:
        if draw < share:
            spent = move == "rephrase" and tries >= habits.most_rephrases
            if not spent:
                return move
            break
        draw -= share
    return "another" if chance.random() < habits.another else "end"


def _pause(move: str, chance: np.random.Generator, habits: Habits) -> float:
    """Seconds to the next request."""
    median = habits.wronged_pause if move in ("rephrase", "barge_in") else habits.served_pause
    pause = min(median * float(np.exp(habits.pause_spread * chance.standard_normal())), _LONGEST_PAUSE)
    return pause * habits.cut_short if move == "barge_in" else pause
