"""All signals of sorted turns, in one pass over a bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features import (
    acts,
    agreement,
    answer,
    confidence,
    consensus,
    gaps,
    lexicon,
    question,
    repetition,
    rephrase,
    system_repeat,
)
from features.asked import REPHRASE_LIKENESS, Asked, asked
from features.hashing import hash_texts
from features.interpretation import Candidates, best, flatten
from features.neighbours import masked
from features.text import distinct, flat, is_true, normalise, token_count
from features.timeline import SESSION_CAP, SESSION_GAP_S, Timeline, timeline
from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

# Columns of a turn that the signals are made from; the others need not be read.
READS: Final = (
    "turn_id",
    "conversation_id",
    "subject_id",
    "sequence",
    "event_time",
    "prompt",
    "utterance",
    "asr",
    "interpretations",
    "response",
    "outcome",
    "barge_in",
    "explicit_rating",
)


@dataclass(frozen=True)
class SignalOptions:
    """Numbers that decide what a signal sees; the reasons stand at each default.

    Attributes
    ----------
    session_gap : float
        A pause longer than so many seconds ends a session: the usual cut for voice assistants.
    session_cap : int
        A session of more turns goes on in a next segment, so that one runaway client cannot fill a worker.
    rephrase_turns : int
        How many turns ahead a rephrase is looked for.
    rephrase_gap : float
        A rephrase further away than so many seconds is a new request more often than a repair.
    rephrase_likeness : float
        A later turn at least so like gives its reading as a candidate for this turn; less like, it is mostly about
        something else.
    horizon : int
        Turns on either side whose readings still speak of the same wish.
    language : str
        Lexicon of the user's and the system's words.
    """

    session_gap: float = SESSION_GAP_S
    session_cap: int = SESSION_CAP
    rephrase_turns: int = rephrase.REPHRASE_TURNS
    rephrase_gap: float = rephrase.REPHRASE_GAP_S
    rephrase_likeness: float = REPHRASE_LIKENESS
    horizon: int = agreement.HORIZON
    language: str = "en"


def signals(turns: pa.Table, options: SignalOptions | None = None) -> pa.Table:
    """Compute every signal of turns that stand in the total order.

    Decision time is the session's close: nothing later than a session's last turn is seen.

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows, at least the columns of `READS`, sorted (`features.timeline.sort`), whole subjects only.
    options : SignalOptions, optional
        Defaults as documented there.

    Returns
    -------
    pyarrow.Table
        Signals rows, same order and number.
    """
    options = options or SignalOptions()
    words = lexicon.load(options.language)
    line = timeline(turns, options.session_gap, options.session_cap)
    hypotheses = flatten(turns["interpretations"])
    pooled = confidence.pool(hypotheses)
    said_before, said_after = _system_texts(turns, line)
    utterance, prompt, response = (normalise(t) for t in (distinct(turns["utterance"]), said_before, said_after))

    columns = _keys(turns, hypotheses, line)
    ahead = rephrase.look_ahead(utterance, line, options.rephrase_turns, options.rephrase_gap)
    columns |= gaps.gaps(turns, line) | gaps.barge_in(turns, line)
    columns |= rephrase.rephrase(utterance, line, ahead)
    columns["utterance_id"] = _words_id(utterance, columns["utterance_tokens"])
    columns |= repetition.repetition(utterance, line, options.horizon)
    intent = distinct(columns["intent"])
    columns |= acts.user_acts(utterance, intent, line, words)
    columns |= acts.system_acts(prompt, response, words)
    columns |= answer.system_outcomes(flat(turns["outcome"]), response, words)
    columns["confirmation"] = acts.confirmation(
        columns["asks_confirmation"], columns["negates_next"], columns["affirms_next"]
    )
    columns |= system_repeat.system_repeat(prompt, response, line)
    columns |= question.question_repeat(said_before, said_after, line, words)
    columns["response_tokens"] = token_count(response)
    columns["dwell"] = answer.dwell(columns["gap_after"], columns["response_tokens"])
    columns |= _logged(turns)
    columns["abandoned"] = answer.abandoned(line, columns)
    columns |= confidence.asr(flat(turns["asr"]), line)
    columns |= confidence.nbest(hypotheses, pooled, line)
    columns |= agreement.next_agreement(hypotheses, line)
    is_act = lexicon.named(intent, lexicon.USER_ACTS, words)
    wanted = asked(hypotheses, ahead, ~is_true(is_act), is_true(columns["corrects"]), options.rephrase_likeness)
    evidence = agreement.candidate_evidence(
        hypotheses, pooled, wanted, line, response, columns["confirmation"], options.horizon
    )
    columns["candidates"] = _candidate_lists(hypotheses, pooled, wanted, evidence, turns.num_rows)
    return SIGNALS.conform(pa.table(columns))


def _system_texts(turns: pa.Table, line: Timeline) -> tuple[pa.Array, pa.Array]:
    """The system's words before and after each request, held once where they are the same."""
    response = flat(turns["response"])
    both = distinct(pa.concat_arrays([system_repeat.prompts(flat(turns["prompt"]), response, line), response]))
    return both[: turns.num_rows], both[turns.num_rows :]


def _keys(turns: pa.Table, hypotheses: Candidates, line: Timeline) -> dict[str, pa.Array]:
    turn_id = flat(turns["turn_id"])
    return {
        "turn_id": turn_id,
        "subject_id": flat(turns["subject_id"]),
        "session_id": turn_id.take(pa.array(line.starts)),
        "event_time": flat(turns["event_time"]),
        "domain": _top(turns, hypotheses, "domain"),
        "intent": _top(turns, hypotheses, "intent"),
    }


def _words_id(utterance: pa.Array, tokens: pa.Array) -> pa.Array:
    """Hash of each normalised utterance; null where it has no words."""
    return masked(hash_texts(utterance).view(np.int64), is_true(pc.greater(tokens, 0)), pa.int64())


def _entry(turns: pa.Table, field: str, rows: npt.NDArray[np.int64]) -> pa.Array:
    """A field of the flat interpretations at `rows`, null where a row is negative."""
    values = flat(turns["interpretations"]).flatten().field(field)
    return values.take(pa.array(rows, mask=rows < 0))


def _top(turns: pa.Table, hypotheses: Candidates, field: str) -> pa.Array:
    return _entry(turns, field, best(hypotheses))


def _logged(turns: pa.Table) -> dict[str, pa.Array]:
    outcome = flat(turns["outcome"])
    return {
        "outcome_failed": pc.not_equal(outcome, "answered"),
        "explicit_rating": pc.cast(flat(turns["explicit_rating"]), pa.float32()),
    }


def _candidate_lists(
    hypotheses: Candidates,
    pooled: confidence.Pooled,
    wanted: Asked,
    evidence: dict[str, npt.NDArray[np.generic]],
    turns: int,
) -> pa.Array:
    """The flat evidence as one list a turn. What the turn's own n-best tells of a hypothesis is null for others."""
    order, offsets = wanted.listed(turns)
    entry, of_rephrase = wanted.entry, wanted.offset > 0
    has_values = hypotheses.value_id[entry] != 0
    own: dict[str, npt.NDArray[np.generic]] = {
        "mass": pooled.mass,
        "rank": pooled.rank,
        "share": pooled.share,
        "repeats": pooled.repeats,
        **consensus.consensus(hypotheses, pooled),
    }
    values: dict[str, npt.NDArray[np.generic]] = evidence | {
        "candidate_id": hypotheses.candidate_id[entry],
        "frame_id": hypotheses.frame_id[entry],
        "value_id": hypotheses.value_id[entry],
        "first": pooled.first[entry] | of_rephrase,
        "offset": wanted.offset,
        "rephrase": wanted.like,
    }
    arrays = []
    for column in CANDIDATE_COLUMNS:
        if column.name in own:
            held = pc.if_else(pa.array(of_rephrase), None, pa.array(own[column.name][entry], from_pandas=True))
        elif column.name == "echo":
            held = pa.array(values["echo"], mask=~has_values)
        else:
            held = pa.array(values[column.name], from_pandas=True)
        arrays.append(held.cast(column.type).take(pa.array(order)))
    structs = pa.StructArray.from_arrays(arrays, fields=[pa.field(c.name, c.type) for c in CANDIDATE_COLUMNS])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
