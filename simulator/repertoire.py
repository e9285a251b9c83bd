"""All that can be said, heard and answered, worked out once: a simulation then only looks things up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.interpretation import flatten, hex_id
from schemas import INTERPRETATION
from simulator.grammar import Grammar
from simulator.hearing import SLIPS, Heard, hear
from simulator.lists import Lists
from simulator.nlu import Hypothesis, merged, train
from simulator.options import SimulateOptions
from simulator.phrases import CORRECTION, PhraseBook, Reading, phrase_book, phrasing_weights
from simulator.responses import asked, done

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Scores are written with so many decimals.
DECIMALS: Final = 4
# Where the right interpretation is not in the n-best.
ABSENT: Final = 99


@dataclass(frozen=True)
class Repertoire:
    """Sentences with their recognitions and what the NLU makes of them.

    A recognition is number sentence * (SLIPS + 1) + slip; slip 0 is none. A reading's number is its row in `readings`.

    Attributes
    ----------
    book : PhraseBook
    wish_weight : numpy.ndarray, shape (wishes,)
        How often each wish is had.
    sentence_weight : numpy.ndarray, shape (sentences,)
        How often each is said when its wish is had.
    correction : numpy.ndarray of int64, shape (wishes,)
        The sentence that corrects a misreading of the wish; -1 for acts.
    readings : list of Reading
    right : numpy.ndarray of int64, shape (wishes,)
        Reading of each wish.
    nbest : pyarrow.ListArray
        Interpretations of each recognition, best first.
    hypotheses : list of list of str
        Texts of each recognition.
    confidence : numpy.ndarray, shape (recognitions, HYPOTHESES)
        NaN where there is no hypothesis.
    top, second : numpy.ndarray of int64, shape (recognitions,)
        Readings of the best and the second interpretation; the best again where there is no second.
    score : numpy.ndarray, shape (recognitions,)
        Of the best.
    rank : numpy.ndarray of int64, shape (recognitions,)
        Place of the right reading in the n-best; ABSENT where it is not there.
    candidate_id : list of str
        Of each reading.
    """

    book: PhraseBook
    wish_weight: F64
    sentence_weight: F64
    correction: I64
    readings: list[Reading]
    right: I64
    nbest: pa.ListArray
    hypotheses: list[list[str]]
    confidence: F64
    top: I64
    second: I64
    score: F64
    rank: I64
    candidate_id: list[str]
    done: list[str]
    asked: list[str]

    @property
    def domains(self) -> int:
        """Domains that requests may be of."""
        return len({w.domain for w in self.book.wishes[: self.book.requests]})


def repertoire(grammar: Grammar, lists: Lists, options: SimulateOptions) -> Repertoire:
    """Sample the phrase book, hear it, train the NLU and read all that is heard."""
    book = phrase_book(grammar, lists, options.wishes, options.seed)
    heard = hear([s.text for s in book.sentences], lists.sound_alikes, options.seed)
    lists_of = _interpreted(book, grammar, lists, heard, options.seed)
    readings = list(dict.fromkeys(chain(book.wishes, (h.reading for nbest in lists_of for h in nbest))))
    number = {reading: k for k, reading in enumerate(readings)}
    right = np.array([number[w] for w in book.wishes])
    top = np.array([number[nbest[0].reading] for nbest in lists_of])
    second = np.array([number[nbest[min(1, len(nbest) - 1)].reading] for nbest in lists_of])
    meant = np.repeat(right[book.wish], SLIPS + 1)
    rank = np.array(
        [
            next((k for k, h in enumerate(nbest) if number[h.reading] == m), ABSENT)
            for nbest, m in zip(lists_of, meant.tolist(), strict=True)
        ]
    )
    joint = _reweighted(book, rank, options)
    wish_weight = np.bincount(book.wish, joint, minlength=len(book.wishes))
    usual = phrasing_weights(book)
    had = wish_weight[book.wish]
    return Repertoire(
        book=book,
        wish_weight=wish_weight / wish_weight.sum(),
        sentence_weight=np.where(had > 0, np.divide(joint, had, out=usual.copy(), where=had > 0), usual),
        correction=_corrections(book),
        readings=readings,
        right=right,
        nbest=_nbest(heard, lists_of),
        hypotheses=heard.texts,
        confidence=heard.confidence,
        top=top,
        second=second,
        score=np.array([round(nbest[0].score, DECIMALS) for nbest in lists_of]),
        rank=rank,
        candidate_id=_candidate_ids(readings),
        done=[done(r) for r in readings],
        asked=[asked(r) for r in readings],
    )


def _interpreted(book: PhraseBook, grammar: Grammar, lists: Lists, heard: Heard, seed: int) -> list[list[Hypothesis]]:
    """N-best of each recognition; every distinct text is read once."""
    nlu = train(book, grammar, lists, seed)
    texts = list(dict.fromkeys(chain.from_iterable(heard.texts)))
    read = dict(zip(texts, nlu.read(texts), strict=True))
    sums = np.nansum(heard.confidence, axis=1)
    return [
        merged([read[t] for t in hypotheses], (row[: len(hypotheses)] / total).tolist())
        for hypotheses, row, total in zip(heard.texts, heard.confidence, sums, strict=True)
    ]


def _reweighted(book: PhraseBook, rank: I64, options: SimulateOptions) -> F64:
    """How often each sentence is said, so that first requests are misread as often as wished.

    People learn what works and what does not: sentences that are read right, misread with the truth in the n-best,
    and misread without it, each are said more or less often than the phrase book has them.
    """
    rates = options.rates
    weight = book.popularity[book.wish] * phrasing_weights(book)
    by_slip = rank.reshape(-1, SLIPS + 1)
    wrong = by_slip > 0
    slipped = wrong[:, 1:].mean(axis=1)
    groups = (~wrong[:, 0], wrong[:, 0] & (by_slip[:, 0] != ABSENT), by_slip[:, 0] == ABSENT)

    def mean(group: npt.NDArray[np.bool_]) -> float:
        total = weight[group].sum()
        return float((weight[group] * slipped[group]).sum() / total) if total else 0.0

    if_right = rates.misheard * mean(groups[0])
    if_wrong = 1.0 - rates.misheard + rates.misheard * mean(~groups[0])
    share = float(np.clip((rates.misread - if_right) / (if_wrong - if_right), 0.0, 1.0))
    wished = (1.0 - share, share * rates.misread_in_nbest, share * (1.0 - rates.misread_in_nbest))
    for group, part in zip(groups, wished, strict=True):
        total = weight[group].sum()
        if total:
            weight[group] *= part / total
    return np.asarray(weight, dtype=np.float64)


def _corrections(book: PhraseBook) -> I64:
    last = book.offsets[1:] - 1
    is_one = np.array([s.template == CORRECTION for s in book.sentences])
    return np.where(is_one[last], last, -1)


def _nbest(heard: Heard, lists_of: list[list[Hypothesis]]) -> pa.ListArray:
    rows = [[_interpretation(h, texts[0]) for h in nbest] for texts, nbest in zip(heard.texts, lists_of, strict=True)]
    return pa.array(rows, pa.list_(INTERPRETATION))


def _interpretation(hypothesis: Hypothesis, utterance: str) -> dict[str, Any]:
    """An n-best entry. Where a value was read in another hypothesis of the recogniser, its span is looked for here."""
    spans = {name: (start, end) for name, _, start, end in hypothesis.slots}
    said = dict(hypothesis.said)
    slots = []
    for name, value in hypothesis.reading.slots:
        start, end = spans.get(name, (None, None))
        if start is not None and utterance[start:end] != said[name]:
            at = utterance.find(said[name])
            start, end = (at, at + len(said[name])) if at >= 0 else (None, None)
        slots.append({"name": name, "value": value, "start": start, "end": end})
    reading = hypothesis.reading
    score = round(hypothesis.score, DECIMALS)
    return {"domain": reading.domain, "intent": reading.intent, "slots": slots, "score": score}


def _candidate_ids(readings: list[Reading]) -> list[str]:
    rows = [
        [{"domain": r.domain, "intent": r.intent, "slots": [{"name": n, "value": v} for n, v in r.slots]}]
        for r in readings
    ]
    return hex_id(flatten(pa.array(rows, pa.list_(INTERPRETATION))).candidate_id)
