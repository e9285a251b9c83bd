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
    carried,
    confidence,
    consensus,
    friction,
    gaps,
    lexicon,
    question,
    repetition,
    rephrase,
    resent,
    system_repeat,
    tools,
)
from features.asked import REPHRASE_LIKENESS, Asked, asked
from features.interpretation import Candidates, best, flatten
from features.language import languages
from features.neighbours import shift
from features.pasted import pastes_error
from features.sentiment import sentiment
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
    "locale",
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
        Lexicon of the user's and the system's words, where a turn's locale names none.
    by_locale : bool
        Whether a turn whose locale is in a language that has a lexicon is read by that.
    """

    session_gap: float = SESSION_GAP_S
    session_cap: int = SESSION_CAP
    rephrase_turns: int = rephrase.REPHRASE_TURNS
    rephrase_gap: float = rephrase.REPHRASE_GAP_S
    rephrase_likeness: float = REPHRASE_LIKENESS
    horizon: int = agreement.HORIZON
    language: str = "en"
    by_locale: bool = True


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
    line = timeline(turns, options.session_gap, options.session_cap)
    hypotheses = flatten(turns["interpretations"])
    pooled = confidence.pool(hypotheses)
    texts = _texts(turns, line)

    columns = _keys(turns, hypotheses, line) | _logged(turns)
    columns |= languages(turns["locale"], options.language, options.by_locale).columns(
        lambda words: _in_words(texts, columns, words)
    )
    is_act = is_true(columns.pop("is_act"))
    ahead = rephrase.look_ahead(texts.utterance, line, options.rephrase_turns, options.rephrase_gap)
    columns |= gaps.gaps(turns, line) | gaps.barge_in(turns, line)
    columns |= rephrase.rephrase(texts.utterance, line, ahead)
    columns |= repetition.repetition(texts.utterance, line, options.horizon)
    columns |= acts.reactions(columns, line)
    columns["sentiment_next"] = shift(columns["sentiment"], line, 1)
    columns["pastes_error"] = pastes_error(texts.typed)
    columns["pastes_error_next"] = shift(columns["pastes_error"], line, 1)
    columns["edited_next"] = resent.edited_next(texts.utterance, columns["utterance_tokens"], ahead[0])
    columns["regenerated"] = resent.regenerated(columns["repeats_next"], ahead[0], texts.said_after)
    columns["confirmation"] = acts.confirmation(
        columns["asks_confirmation"], columns["negates_next"], columns["affirms_next"]
    )
    columns |= system_repeat.system_repeat(texts.prompt, texts.response, line)
    columns["response_tokens"] = token_count(texts.response)
    columns["dwell"] = answer.dwell(columns["gap_after"], columns["response_tokens"])
    columns["abandoned"] = answer.abandoned(line, columns)
    columns["tool_retried"] = tools.tool_retried(columns["tool_failed"], columns["domain"], columns["intent"], line)
    columns |= confidence.asr(flat(turns["asr"]), line)
    columns |= confidence.nbest(hypotheses, pooled, line)
    columns |= agreement.next_agreement(hypotheses, line)
    columns |= carried.carried(turns["interpretations"], hypotheses, line, columns["same_frame_next"])
    corrects = is_true(columns["corrects"])
    wanted = asked(hypotheses, ahead, ~is_act, corrects, options.rephrase_likeness)
    evidence = agreement.candidate_evidence(
        hypotheses, pooled, wanted, line, texts.response, columns["confirmation"], options.horizon
    )
    denies = corrects | is_true(columns["negates"]) | is_true(columns["complains"])
    requests = ~is_act & (np.diff(hypotheses.offsets) > 0)
    ends = friction.chains(ahead[0], denies, requests, options.horizon, options.rephrase_likeness)
    evidence["ends_friction"] = friction.ends_friction(hypotheses, wanted, ends)
    columns["candidates"] = _candidate_lists(hypotheses, pooled, wanted, evidence, turns.num_rows)
    return SIGNALS.conform(pa.table(columns))


@dataclass(frozen=True)
class _Texts:
    """What the user and the system said, each distinct text held once: as logged, and normalised."""

    typed: pa.DictionaryArray
    said_before: pa.DictionaryArray
    said_after: pa.DictionaryArray
    utterance: pa.Array
    prompt: pa.Array
    response: pa.Array


def _texts(turns: pa.Table, line: Timeline) -> _Texts:
    typed = distinct(turns["utterance"])
    said = _system_texts(turns, line)
    return _Texts(typed, *said, *(normalise(text) for text in (typed, *said)))


def _in_words(texts: _Texts, known: dict[str, pa.Array], words: lexicon.Lexicon) -> dict[str, pa.Array]:
    """Columns that hang on the language; `is_act` tells turns whose intent is an act of the dialog, not a request."""
    utterance, prompt, response = (
        lexicon.folded(text, words) for text in (texts.utterance, texts.prompt, texts.response)
    )
    intent = distinct(known["intent"])
    return {
        **acts.user_acts(utterance, intent, words),
        **acts.system_acts(prompt, response, words),
        **answer.system_outcomes(known["outcome"], response, words),
        **question.question_repeat(texts.said_before, texts.said_after, words),
        "sentiment": sentiment(utterance, words),
        "tool_failed": tools.tool_failed(known["domain"], known["outcome"], response, words),
        "is_act": lexicon.named(intent, lexicon.USER_ACTS, words),
    }


def _system_texts(turns: pa.Table, line: Timeline) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
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


def _entry(turns: pa.Table, field: str, rows: npt.NDArray[np.int64]) -> pa.Array:
    """A field of the flat interpretations at `rows`, null where a row is negative."""
    values = flat(turns["interpretations"]).flatten().field(field)
    return values.take(pa.array(rows, mask=rows < 0))


def _top(turns: pa.Table, hypotheses: Candidates, field: str) -> pa.Array:
    return _entry(turns, field, best(hypotheses))


def _logged(turns: pa.Table) -> dict[str, pa.Array]:
    outcome = flat(turns["outcome"])
    return {
        "outcome": outcome,
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
