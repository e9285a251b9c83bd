"""Turns of a block as rows of a log, and their truth."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import ASR_HYPOTHESIS, LOGGED_TURN, TRUTH
from schemas.truth import MOVES
from simulator.hearing import SLIPS
from simulator.jsonl import as_json, lines, present
from simulator.repertoire import ABSENT
from simulator.sessions import Turns
from simulator.users import APP_VERSIONS, CHANNELS, Users
from simulator.world import Action, World

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# The log's first day.
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
POLICY: Final = "assistant-1"
_DAY_S: Final = 86_400.0
_OUTCOMES: Final = {
    Action.CONFIRM: "clarify",
    Action.FALLBACK: "fallback",
    Action.CLARIFY: "clarify",
    Action.ERROR: "error",
    Action.HANDOFF: "handoff",
}
# Nothing was acted on.
_IDLE: Final = (Action.CONFIRM, Action.FALLBACK, Action.CLARIFY, Action.ERROR)
# The same words are recognised a little more or less surely each time: half the width of the factor.
_SURER: Final = 0.08
# One rating in so many is a slip of the finger.
_SLIP: Final = 0.1
LOGGED: Final = pa.schema([f for f in LOGGED_TURN.schema if f.name != "source"])


class LogTables:
    """Makes tables of turns. What does not change from block to block is made once."""

    def __init__(self, world: World) -> None:
        self._world = world

    def table(self, turns: Turns, people: Users, seconds: F64, where: str, numbers: np.random.Generator) -> pa.Table:
        """LOGGED_TURN rows, less `source`, in the order of the turns.

        Parameters
        ----------
        turns : Turns
        people : Users
        seconds : numpy.ndarray
            Time of each turn from `START`.
        where : str
            Name of the block: conversation ids begin with it.
        numbers : numpy.random.Generator
        """
        n, known = len(turns), self._world.known
        conversation = pc.binary_join_element_wise(where, _padded(turns.session, 6), "-")
        columns: dict[str, Any] = {
            "turn_id": pc.binary_join_element_wise(conversation, _padded(turns.step, 2), "-"),
            "conversation_id": conversation,
            "user_id": pc.binary_join_element_wise("u", _padded(people.number[turns.user], 7), ""),
            "sequence": pa.array(turns.step),
            "event_time": _times(seconds),
            "locale": pa.repeat("en", n),
            "channel": _choice(CHANNELS, people.channel[turns.user]),
            "app_version": _choice(APP_VERSIONS, people.app_version[turns.user]),
            "utterance": self._utterances.take(pa.array(turns.recognition)),
            "asr": self._hypotheses(turns.recognition, numbers),
            "interpretations": known.nbest.take(pa.array(turns.recognition)),
            "executed": pa.array(np.zeros(n, np.int32), mask=np.isin(turns.action, _IDLE)),
            "response": self._responses.take(pa.array(turns.response)),
            "outcome": _choice([_OUTCOMES.get(a, "answered") for a in Action], turns.action),
            "barge_in": pa.array(turns.barge_in),
            "explicit_rating": self._ratings(turns, numbers),
            "policy": pa.repeat(POLICY, n),
            "consent": pa.array(people.consent[turns.user]),
        }
        arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(n, f.type) for f in LOGGED]
        return pa.table(arrays, schema=LOGGED)

    def lines(self, table: pa.Table, turns: Turns) -> bytes:
        """Lines of JSON for the rows that `table` gave for the turns."""
        held = {name: table[name].combine_chunks() for name in present(table) if name != "interpretations"}
        members = {name: as_json(values) for name, values in held.items()}
        return lines(members | {"interpretations": self._interpretations.take(pa.array(turns.recognition))})

    def truth(self, turns: Turns, turn_id: pa.Array) -> pa.Table:
        """TRUTH rows, in the order of the turns."""
        known = self._world.known
        right = pa.array(turns.right)
        rank = known.rank[turns.recognition]
        meant = self._readings.take(right)
        return TRUTH.conform(
            pa.table(
                {
                    "turn_id": turn_id,
                    "move": _choice(MOVES, turns.move),
                    "said": self._said.take(pa.array(turns.recognition // (SLIPS + 1))),
                    "domain": meant.field("domain"),
                    "intent": meant.field("intent"),
                    "slots": meant.field("slots"),
                    "candidate_id": pa.array(known.candidate_id).take(right),
                    "rank": pa.array(rank.astype(np.int32), mask=rank == ABSENT),
                    "wrong": pa.array(turns.wrong),
                    "satisfied": pa.array(turns.satisfied),
                }
            )
        )

    @cached_property
    def _utterances(self) -> pa.Array:
        return pa.array([texts[0] for texts in self._world.known.hypotheses])

    @cached_property
    def _interpretations(self) -> pa.Array:
        """JSON of each recognition's n-best."""
        return as_json(self._world.known.nbest)

    @cached_property
    def _said(self) -> pa.Array:
        return pa.array([s.text for s in self._world.known.book.sentences])

    @cached_property
    def _responses(self) -> pa.Array:
        return pa.array(self._world.responses)

    @cached_property
    def _readings(self) -> pa.StructArray:
        rows = [
            {"domain": r.domain, "intent": r.intent, "slots": [{"name": n, "value": v} for n, v in r.slots]}
            for r in self._world.known.readings
        ]
        type = pa.struct([pa.field(name, TRUTH.schema.field(name).type) for name in ("domain", "intent", "slots")])
        return pa.array(rows, type)

    @cached_property
    def _asr_texts(self) -> tuple[pa.Array, I64, I64]:
        """Texts of all recognitions' hypotheses, flat; where each one's begin, and how many they are."""
        texts = self._world.known.hypotheses
        counts = np.array([len(t) for t in texts])
        return pa.array([t for held in texts for t in held]), np.cumsum(counts) - counts, counts

    def _hypotheses(self, recognition: I64, numbers: np.random.Generator) -> pa.ListArray:
        texts, starts, counts = self._asr_texts
        count = counts[recognition]
        offsets = np.concatenate([[0], np.cumsum(count)])
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
        owner = np.repeat(recognition, count)
        factor = np.repeat(numbers.uniform(1.0 - _SURER, 1.0 + _SURER, len(recognition)), count)
        confidence = self._world.known.confidence[owner, place] * factor
        entries = pa.StructArray.from_arrays(
            [texts.take(pa.array(starts[owner] + place)), pa.array(np.round(np.minimum(confidence, 0.99), 3))],
            fields=list(ASR_HYPOTHESIS),
        )
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries)

    def _ratings(self, turns: Turns, numbers: np.random.Generator) -> pa.Array:
        n = len(turns)
        rated = numbers.random(n) < self._world.options.rates.rated
        good = turns.satisfied ^ (numbers.random(n) < _SLIP)
        return pa.array(good.astype(np.float64), mask=~rated)


def _padded(numbers: I64, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _choice(texts: Any, at: I64) -> pa.Array:
    return pa.array(list(texts), pa.string()).take(pa.array(at))


def _times(seconds: F64) -> pa.Array:
    """ISO 8601 in UTC, to the millisecond."""
    at = pa.array(np.round(seconds * 1e3).astype(np.int64) + int(START.timestamp() * 1e3)).cast(pa.timestamp("ms"))
    return pc.binary_join_element_wise(pc.strftime(at, format="%Y-%m-%dT%H:%M:%S"), "Z", "")


def placed(turns: Turns, day: int, numbers: np.random.Generator) -> F64:
    """Seconds of each turn from `START`; sessions of one user stand apart, in hours when people are awake.

    Parameters
    ----------
    turns : Turns
        Whole sessions, in order of session and step.
    day : int
    numbers : numpy.random.Generator
    """
    sessions = int(turns.session.max()) + 1
    first = np.flatnonzero(turns.step == 0)
    user = turns.user[first]
    lasts = np.bincount(turns.session, turns.pause, minlength=sessions)
    start = _hours(numbers, sessions) * 3600.0
    order = np.lexsort((start, user))
    # A session begins at its own time, or a while after the one before has ended: a running maximum a user.
    taken = lasts[order] + _APART_S
    before = np.cumsum(taken) - taken
    new = np.flatnonzero(np.diff(user[order], prepend=-1))
    before -= np.repeat(before[new], np.diff(np.append(new, sessions)))
    lane = user[order] * (10.0 * _DAY_S)
    begun = np.maximum.accumulate(start[order] - before + lane) - lane + before
    start[order] = begun
    within = np.cumsum(turns.pause)
    within -= np.repeat(within[first] - turns.pause[first], np.bincount(turns.session, minlength=sessions))
    return np.asarray(day * _DAY_S + start[turns.session] + within, dtype=np.float64)


# Seconds from the end of a session to the next at least: more than the pause that ends a session (300 s).
_APART_S: Final = 330.0
# Hours of the day: evenings, mornings, and all between; (share, mean, spread).
_PEAKS: Final = ((0.45, 19.0, 1.8), (0.3, 7.5, 1.0), (0.25, 13.5, 3.0))
_AWAKE: Final = (5.0, 22.5)


def _hours(numbers: np.random.Generator, n: int) -> F64:
    share, mean, spread = (np.array(column) for column in zip(*_PEAKS, strict=True))
    peak = numbers.choice(len(_PEAKS), n, p=share)
    hours = mean[peak] + spread[peak] * numbers.standard_normal(n)
    return np.clip(hours, *_AWAKE) + numbers.random(n) * 0.25
