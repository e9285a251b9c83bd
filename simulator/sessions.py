"""Sessions, turn by turn: all sessions of a block take their next turn at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.assistant import Assistant
from simulator.reactions import Move, Situation, next_moves
from simulator.users import Users, wishes_of, wording
from simulator.world import Action, World

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A session goes on for so many turns at most.
MOST_TURNS: Final = 16
# Median seconds to the next request by situation (the answer is spoken in that time), and the spread of its logarithm.
_PAUSE: Final = {
    Situation.SERVED: 22.0,
    Situation.WRONGED: 6.5,
    Situation.FAILED: 6.0,
    Situation.ASKED_RIGHT: 4.0,
    Situation.ASKED_WRONG: 4.5,
    Situation.SORRY: 5.0,
    Situation.OVER: 25.0,
}
_PAUSE_SPREAD: Final = 0.5
# The shortest pause, and the longest: a longer one would end the session (300 s).
_PAUSES: Final = (1.2, 240.0)
# Of the pause, what passes where the answer is cut short.
_CUT_SHORT: Final = 0.5


@dataclass(frozen=True)
class Turns:
    """Turns of a block, one entry each.

    Attributes
    ----------
    session, step : numpy.ndarray of int64
        Number of the session in its block, and place in the session.
    user : numpy.ndarray of int64
        Row of the block's users.
    move, action : numpy.ndarray of int64
        What the user did, and the system.
    recognition : numpy.ndarray of int64
        See `simulator.repertoire.Repertoire`.
    response : numpy.ndarray of int64
        A reading that was done; a reading asked about, after all readings; a text of the system, after those.
    right : numpy.ndarray of int64
        Reading that was meant.
    pause : numpy.ndarray
        Seconds since the session's request before; 0 for its first.
    barge_in, wrong, satisfied : numpy.ndarray of bool
    """

    session: I64
    step: I64
    user: I64
    move: I64
    action: I64
    recognition: I64
    response: I64
    right: I64
    pause: F64
    barge_in: Mask
    wrong: Mask
    satisfied: Mask

    def __len__(self) -> int:
        """Turns."""
        return len(self.session)

    def take(self, rows: npt.NDArray[np.generic]) -> Turns:
        """The turns at some rows, or where a mask holds."""
        return Turns(*(getattr(self, f.name)[rows] for f in fields(self)))


def joined(parts: list[Turns]) -> Turns:
    """Turns one after another."""
    return Turns(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Turns)))


class Block:
    """Sessions of one block of users.

    Parameters
    ----------
    world : World
    people : Users
    numbers : numpy.random.Generator
    """

    def __init__(self, world: World, people: Users, numbers: np.random.Generator) -> None:
        self._world, self._people, self._numbers = world, people, numbers
        self._assistant = Assistant(world, people, numbers)

    def run(self, at: I64) -> Turns:
        """One session for each of the users `at`, to its end.

        Parameters
        ----------
        at : numpy.ndarray of int64, shape (sessions,)
            Rows of the block's users.
        """
        n, world, numbers = len(at), self._world, self._numbers
        session = np.arange(n)
        wish = wishes_of(self._people, at, world.wish_cumulative, numbers)
        move, sentence = np.zeros(n, np.int64), np.full(n, -1, np.int64)
        tries, guess, question = np.zeros(n, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        pause, barge = np.zeros(n), np.zeros(n, bool)
        parts = []
        for step in range(MOST_TURNS):
            sentence = self._sentences(move, wish, sentence, at)
            tries = np.where(move <= Move.REFINE, 1, tries + ((move >= Move.REPHRASE) & (move <= Move.CORRECT)))
            act = world.acts[move]
            spoken = np.where(move == Move.CORRECT, world.known.correction[wish], sentence)
            spoken = np.where(act >= 0, self._act_sentences(act), spoken)
            recognition = self._assistant.hears(spoken, at)
            goal = world.known.right[wish]
            right = np.where(act >= 0, world.known.right[act], goal)
            action, shown = self._assistant.acts(move, recognition, right, question, guess)
            response = self._assistant.answers(action, shown)
            wrong = world.known.top[recognition] != right
            satisfied = np.where(
                act >= 0,
                ~wrong,
                np.isin(action, (Action.EXECUTE, Action.CONFIRM)) & (shown == right),
            )
            columns = (session, np.full(len(at), step), at, move, action, recognition, response, right)
            parts.append(Turns(*columns, pause, barge, wrong, satisfied))
            situation = _situations(move, action, shown, goal, wrong)
            question = np.where(action == Action.CONFIRM, shown, -1)
            second = world.known.second[recognition]
            guess = np.where((move <= Move.CORRECT) & (question >= 0) & (second != question), second, -1)
            move = next_moves(world.moves, situation, self._people, at, tries, numbers)
            pause, barge = self._reaction_times(situation, move)
            going = move != Move.END
            kept = (session, at, wish, move, sentence, tries, guess, question, pause, barge)
            session, at, wish, move, sentence, tries, guess, question, pause, barge = (a[going] for a in kept)
            if not len(session):
                break
            wish = self._goals(move, wish, at)
        return joined(parts)

    def _goals(self, move: I64, wish: I64, at: I64) -> I64:
        """What is wanted now: another wish after REQUEST, another of the same intent after REFINE, else the same."""
        order, first, size = self._world.kin
        fresh = wishes_of(self._people, at, self._world.wish_cumulative, self._numbers)
        other = order[first[wish] + (self._numbers.random(len(wish)) * size[wish]).astype(np.int64)]
        return np.select([move == Move.REQUEST, move == Move.REFINE], [fresh, other], wish)

    def _sentences(self, move: I64, wish: I64, last: I64, at: I64) -> I64:
        """The sentence of each request; other moves keep the last."""
        numbers = self._numbers
        usual = self._said(wish, wording(self._people, at, wish, self._world.options.seed, numbers))
        other = self._said(wish, numbers.random(len(wish)))
        for _ in range(2):
            other = np.where(other == last, self._said(wish, numbers.random(len(wish))), other)
        fresh = (move == Move.REQUEST) | (move == Move.REFINE)
        return np.select([fresh, move == Move.REPHRASE], [usual, other], last)

    def _act_sentences(self, act: I64) -> I64:
        return self._said(np.maximum(act, 0), self._numbers.random(len(act)))

    def _said(self, wish: I64, chance: F64) -> I64:
        """The sentence of each wish that a draw from [0, 1) stands for."""
        offsets, cumulative = self._world.known.book.offsets, self._world.said_cumulative
        first, last = offsets[wish], offsets[wish + 1] - 1
        before = np.where(first > 0, cumulative[first - 1], 0.0)
        found = np.searchsorted(cumulative, before + chance * (cumulative[last] - before), side="right")
        return np.clip(found, first, last)

    def _reaction_times(self, situation: I64, move: I64) -> tuple[F64, Mask]:
        """Seconds to the next request, and whether it cuts the answer short."""
        rates, n = self._world.options.rates, len(situation)
        wronged = np.isin(situation, (Situation.WRONGED, Situation.FAILED, Situation.ASKED_WRONG))
        barge = self._numbers.random(n) < np.where(wronged, rates.barge_in, rates.barge_in_right)
        median = np.array([_PAUSE[s] for s in Situation])[np.where(move <= Move.REFINE, Situation.SERVED, situation)]
        pause = median * np.exp(_PAUSE_SPREAD * self._numbers.standard_normal(n)) * np.where(barge, _CUT_SHORT, 1.0)
        return np.clip(pause, *_PAUSES), barge


def _situations(move: I64, action: I64, shown: I64, goal: I64, wrong: Mask) -> I64:
    """How each user sees the answer, given what they are after."""
    request = move <= Move.CORRECT
    asks = action == Action.CONFIRM
    meant = shown == goal
    return np.select(
        [
            asks & meant,
            asks,
            np.isin(action, (Action.FALLBACK, Action.CLARIFY, Action.ERROR)),
            action == Action.SORRY,
            np.isin(action, (Action.OKAY, Action.WELCOME, Action.HANDOFF)),
            (request | (move == Move.AFFIRM)) & meant,
        ],
        [
            Situation.ASKED_RIGHT,
            Situation.ASKED_WRONG,
            Situation.FAILED,
            Situation.SORRY,
            Situation.OVER,
            Situation.SERVED,
        ],
        np.where(~request & wrong, Situation.FAILED, Situation.WRONGED),
    ).astype(np.int64)
