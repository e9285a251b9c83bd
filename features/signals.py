"""All signals of sorted turns, in one pass over a bucket."""

from __future__ import annotations

from collections.abc import Sequence
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
from features.asked import REPHRASE_LIKENESS, asked
from features.hashing import hash_texts
from features.interpretation import Candidates, best, flatten
from features.language import languages
from features.listed import candidate_lists
from features.neighbours import masked, shift
from features.pasted import pastes_error
from features.rephrase import Ahead
from features.sentiment import sentiment
from features.text import distinct, flat, is_true, token_count
from features.texts import Texts, texts_of
from features.timeline import SESSION_BYTES, SESSION_CAP, SESSION_GAP_S, Timeline, timeline
from schemas.signals import SIGNALS

# Columns of a turn that the signals are made from; the others need not be read.
READS: Final = (
    "turn_id",
    "conversation_id",
    "subject_id",
    "parent_id",
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
    session_bytes : int
        A session of more text (bytes of prompts, utterances and responses) goes on in a next segment too.
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
    session_bytes: int = SESSION_BYTES
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
        Turn rows, at least the columns of `READS`, sorted (`features.timeline.sort`), whole sessions only.
    options : SignalOptions, optional
        Defaults as documented there.

    Returns
    -------
    pyarrow.Table
        Signals rows, same order and number.
    """
    options = options or SignalOptions()
    line = timeline(turns, options.session_gap, options.session_cap, options.session_bytes)
    hypotheses = flatten(turns["interpretations"])
    texts = texts_of(turns, line)
    ahead = rephrase.look_ahead(texts.utterance, line, options.rephrase_turns, options.rephrase_gap)

    columns = _keys(turns, hypotheses, line) | _logged(turns) | gaps.gaps(turns, line) | gaps.barge_in(turns, line)
    columns |= languages(turns["locale"], options.language, options.by_locale).columns(
        lambda words: _in_words(texts, columns, words)
    )
    columns |= _user(texts, columns, line, ahead, options)
    columns |= _system(texts, columns, line)
    pooled = confidence.pool(hypotheses)
    columns |= confidence.asr(flat(turns["asr"]), line) | confidence.nbest(hypotheses, pooled, line)
    columns |= agreement.next_agreement(hypotheses, line)
    columns |= carried.carried(turns["interpretations"], hypotheses, line, columns["same_frame_next"])
    columns["candidates"] = _candidates(texts, columns, line, ahead, hypotheses, pooled, options)
    return SIGNALS.conform(pa.table(columns))


def _in_words(texts: Texts, known: dict[str, pa.Array], words: lexicon.Lexicon) -> dict[str, pa.Array]:
    """Columns that hang on the language; `known` holds what was logged.

    `is_act` tells turns whose intent is an act of the dialog, not a request.
    """
    utterance, prompt, response = (
        lexicon.folded(text, words) for text in (texts.utterance, texts.prompt, texts.response)
    )
    intent = distinct(known["intent"])
    return {
        **acts.user_acts(utterance, intent, words),
        **acts.system_acts(prompt, response, words),
        **answer.system_outcomes(known["outcome"], response, words),
        **question.question_repeat(texts.before, texts.after, words),
        "sentiment": sentiment(utterance, words),
        "tool_failed": tools.tool_failed(known["domain"], known["outcome"], response, words),
        "is_act": lexicon.named(intent, lexicon.USER_ACTS, words),
    }


def _user(
    texts: Texts, known: dict[str, pa.Array], line: Timeline, ahead: Sequence[Ahead], options: SignalOptions
) -> dict[str, pa.Array]:
    """What the user's words tell, whatever the language; `known` holds what hangs on it."""
    columns = rephrase.rephrase(texts.utterance, line, ahead)
    columns |= repetition.repetition(texts.utterance, line, options.horizon)
    columns["utterance_id"] = _words_id(texts.utterance, columns["utterance_tokens"])
    columns |= acts.reactions(known, line)
    columns["sentiment_next"] = shift(known["sentiment"], line, 1)
    columns["pastes_error"] = pastes_error(texts.typed)
    columns["pastes_error_next"] = shift(columns["pastes_error"], line, 1)
    columns["edited_next"] = resent.edited_next(texts.utterance, columns["utterance_tokens"], ahead[0])
    columns["regenerated"] = resent.regenerated(columns["repeats_next"], ahead[0], texts.after)
    return columns


def _system(texts: Texts, known: dict[str, pa.Array], line: Timeline) -> dict[str, pa.Array]:
    """What the system's words tell, and how its answer fared."""
    columns = system_repeat.system_repeat(texts.prompt, texts.response, line)
    columns["confirmation"] = acts.confirmation(
        known["asks_confirmation"], known["negates_next"], known["affirms_next"]
    )
    columns["response_tokens"] = token_count(texts.response)
    columns["dwell"] = answer.dwell(known["gap_after"], columns["response_tokens"])
    columns["abandoned"] = answer.abandoned(line, known)
    columns["tool_retried"] = tools.tool_retried(known["tool_failed"], known["domain"], known["intent"], line)
    return columns


def _candidates(
    texts: Texts,
    known: dict[str, pa.Array],
    line: Timeline,
    ahead: Sequence[Ahead],
    hypotheses: Candidates,
    pooled: confidence.Pooled,
    options: SignalOptions,
) -> pa.Array:
    """The hypotheses of each turn, and those of its rephrases, with what the session tells of them."""
    is_act, corrects = is_true(known["is_act"]), is_true(known["corrects"])
    wanted = asked(hypotheses, ahead, ~is_act, corrects, options.rephrase_likeness)
    evidence = agreement.candidate_evidence(
        hypotheses, pooled, wanted, line, texts.response, known["confirmation"], options.horizon
    )
    denies = corrects | is_true(known["negates"]) | is_true(known["complains"])
    requests = ~is_act & (np.diff(hypotheses.offsets) > 0)
    ends = friction.chains(ahead[0], denies, requests, options.horizon, options.rephrase_likeness)
    evidence["ends_friction"] = friction.ends_friction(hypotheses, wanted, ends)
    return candidate_lists(hypotheses, pooled, wanted, evidence, len(line))


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
        "outcome": outcome,
        "outcome_failed": pc.not_equal(outcome, "answered"),
        "explicit_rating": pc.cast(flat(turns["explicit_rating"]), pa.float32()),
    }
