"""The assistant's side of a turn: what it hears, what it does, what it answers."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.hearing import SLIPS
from simulator.reactions import Move
from simulator.users import Users
from simulator.world import Action, World

I64 = npt.NDArray[np.int64]

# Of answers that failed for want of belief, those that ask back; the others say that nothing was understood.
_ASKS_BACK: Final = 0.4


class Assistant:
    """The assistant that a block of users talks to.

    Parameters
    ----------
    world : World
    people : Users
    numbers : numpy.random.Generator
    """

    def __init__(self, world: World, people: Users, numbers: np.random.Generator) -> None:
        self._world, self._people, self._numbers = world, people, numbers

    def hears(self, sentence: I64, at: I64) -> I64:
        """A recognition of each sentence, as said by the users `at`."""
        numbers, rate = self._numbers, self._world.options.rates.misheard
        slip = 1 + (numbers.random(len(at)) * SLIPS).astype(np.int64)
        misheard = numbers.random(len(at)) < rate * self._people.mumbles[at]
        return sentence * (SLIPS + 1) + np.where(misheard, slip, 0)

    def acts(self, move: I64, recognition: I64, right: I64, question: I64, guess: I64) -> tuple[I64, I64]:
        """What the system does, and with which reading.

        Parameters
        ----------
        move, recognition : numpy.ndarray of int64, shape (n,)
        right : numpy.ndarray of int64, shape (n,)
            Reading that is meant. Only an act that is understood is taken for one.
        question : numpy.ndarray of int64, shape (n,)
            Reading that the system asked about last; -1 = none.
        guess : numpy.ndarray of int64, shape (n,)
            Its second guess then; -1 = none.
        """
        rates, chance = self._world.options.rates, self._numbers.random((5, len(move)))
        top, score = self._world.known.top[recognition], self._world.known.score[recognition]
        request = move <= Move.CORRECT
        unsure = request & (score < rates.fallback_below)
        repair = request & (move >= Move.REPHRASE) & (chance[4] < rates.confirm_repair)
        action = np.select(
            [
                request & (chance[0] < rates.error),
                unsure & (chance[1] < _ASKS_BACK),
                unsure,
                request & (score < rates.confirm_below) & (chance[2] < rates.confirm),
                repair,
            ],
            [Action.ERROR, Action.CLARIFY, Action.FALLBACK, Action.CONFIRM, Action.CONFIRM],
            Action.EXECUTE,
        )
        understood = ~request & (top == right)
        offers = (move == Move.DENY) & (guess >= 0) & (chance[3] < rates.second_guess)
        for what, taken in (
            (Move.DENY, np.where(offers, Action.CONFIRM, Action.SORRY)),
            (Move.CANCEL, Action.OKAY),
            (Move.THANK, Action.WELCOME),
            (Move.HUMAN, Action.HANDOFF),
        ):
            action = np.where(understood & (move == what), taken, action)
        shown = np.where(understood & offers, guess, top)
        shown = np.where(understood & (move == Move.AFFIRM) & (question >= 0), question, shown)
        return action, shown

    def answers(self, action: I64, shown: I64) -> I64:
        """A response for each action with its reading."""
        readings = len(self._world.known.readings)
        response = np.where(action == Action.CONFIRM, readings + shown, shown)
        chance = self._numbers.random(len(action))
        for what, said in self._world.texts.items():
            one = self._world.text_offsets[what] + (chance * len(said)).astype(np.int64)
            response = np.where(action == what, one, response)
        return response
