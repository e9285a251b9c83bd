"""What does not change from block to block: all that can be said and answered, and how users react."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simulator.options import SimulateOptions
from simulator.reactions import Move, shares
from simulator.repertoire import Repertoire

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Action(IntEnum):
    """What the system does with a turn."""

    EXECUTE = 0
    CONFIRM = 1
    FALLBACK = 2
    CLARIFY = 3
    ERROR = 4
    SORRY = 5
    OKAY = 6
    WELCOME = 7
    HANDOFF = 8


@dataclass(frozen=True)
class World:
    """What does not change from block to block.

    Attributes
    ----------
    known : Repertoire
    options : SimulateOptions
    texts : dict
        The system's own texts by action.
    """

    known: Repertoire
    options: SimulateOptions
    texts: dict[Action, list[str]]

    @cached_property
    def moves(self) -> F64:
        """Shares of moves by situation."""
        return shares(self.options.rates)

    @cached_property
    def wish_cumulative(self) -> F64:
        """Running sum of how often wishes are had."""
        return np.cumsum(self.known.wish_weight)

    @cached_property
    def said_cumulative(self) -> F64:
        """Running sum of how often sentences are said; each wish adds 1."""
        return np.cumsum(self.known.sentence_weight)

    @cached_property
    def acts(self) -> I64:
        """Wish that stands for each move; -1 for requests and the end."""
        names = {
            Move.DENY: "negate",
            Move.AFFIRM: "affirm",
            Move.CANCEL: "cancel",
            Move.THANK: "thank",
            Move.HUMAN: "human",
        }
        return np.array([self.known.book.acts(names[m]) if m in names else -1 for m in Move])

    @cached_property
    def kin(self) -> tuple[I64, I64, I64]:
        """Wishes in the order of their intents; first place and number of each wish's intent in it."""
        book = self.known.book
        frames = [(w.domain, w.intent) for w in book.wishes]
        number = {frame: k for k, frame in enumerate(dict.fromkeys(frames))}
        group = np.array([number[f] for f in frames])
        order = np.argsort(group, kind="stable")
        size = np.bincount(group)
        return order, (np.cumsum(size) - size)[group], size[group]

    @cached_property
    def text_offsets(self) -> dict[Action, int]:
        """Number of the first response of each action's texts."""
        at, offsets = 2 * len(self.known.readings), {}
        for action, said in self.texts.items():
            offsets[action], at = at, at + len(said)
        return offsets

    @cached_property
    def responses(self) -> list[str]:
        """Text of each response."""
        return [*self.known.done, *self.known.asked, *(t for said in self.texts.values() for t in said)]
