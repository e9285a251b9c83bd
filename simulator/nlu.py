"""A real, deliberately weak NLU: a linear model over word pairs, and a slot finder.

They are trained on a part of the phrase book. Some templates and some device names they have never seen, and of some
intents only a few sentences; so they misread the same words for everybody who says them. The n-best and its scores are
the models' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from simulator.grammar import Grammar
from simulator.lists import Lists
from simulator.phrases import CORRECTION, PhraseBook, Reading
from simulator.slots import Label, Slot, SlotFinder, source_of

F64 = npt.NDArray[np.float64]

# What training leaves out: templates, values of names and of free text, sentences that correct; and intents of which it
# has few sentences.
_UNSEEN_TEMPLATES: Final = 0.2
_UNKNOWN_VALUES: Final = 0.2
_UNSEEN_CORRECTIONS: Final = 0.6
_THIN_INTENTS: Final = 0.2
_THIN: Final = 12
_MOST: Final = 150
# Intents that a text is read under, and the least share of belief for one.
_INTENTS: Final = 5
_LEAST: Final = 0.015
# Places in an n-best; what is less likely than the least score is not listed.
NBEST: Final = 5
_LEAST_SCORE: Final = 0.005
# A device known under other domains than the label's.
_OTHER_DOMAIN: Final = 0.3
# Belief that none of the readings holds, against theirs.
_NOTHING: Final = 0.1
_FEATURES: Final = 1 << 14


class Hypothesis(NamedTuple):
    """One interpretation of a text with its score, slots with spans, and the words under each span."""

    reading: Reading
    score: float
    slots: tuple[Slot, ...]
    said: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Nlu:
    """The trained models."""

    words: HashingVectorizer
    intents: SGDClassifier
    labels: list[Label]
    finder: SlotFinder

    def read(self, texts: Sequence[str]) -> list[list[Hypothesis]]:
        """N-best of each text, best first."""
        belief = self.intents.predict_proba(self.words.transform(texts))
        order = np.argsort(-belief, axis=1, kind="stable")[:, :_INTENTS]
        shares = np.take_along_axis(belief, order, axis=1)
        classes = self.intents.classes_[order]
        return [self._read(*row) for row in zip(texts, classes.tolist(), shares.tolist(), strict=True)]

    def _read(self, text: str, labels: list[int], shares: list[float]) -> list[Hypothesis]:
        matches = self.finder.matches(text)
        named = {s for m in matches for s, _ in m.values if s.startswith("name:")}
        found: list[Hypothesis] = []
        for at, share in zip(labels, shares, strict=True):
            if share < _LEAST and found:
                break
            label = self.labels[at]
            for fill in self.finder.fills(text, label, matches):
                held = dict(label[2]) | {s[0]: s[1] for s in fill.slots}
                reading = Reading(label[0], label[1], tuple(sorted(held.items())))
                weight = fill.weight * (_OTHER_DOMAIN if named and f"name:{label[0]}" not in named else 1.0)
                found.append(Hypothesis(reading, share * weight, fill.slots, ()))
        total = sum(h.score for h in found) + _NOTHING
        best = sorted(found, key=lambda h: -h.score)[:NBEST]
        return [h._replace(score=h.score / total, said=_said(text, h.slots)) for h in best]


def _said(text: str, slots: tuple[Slot, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text[start:end]) for name, _, start, end in slots)


def train(book: PhraseBook, grammar: Grammar, lists: Lists, seed: int) -> Nlu:
    """Train on a part of the phrase book.

    Parameters
    ----------
    book : PhraseBook
    grammar : Grammar
        Gives the values that slots may take.
    lists : Lists
    seed : int
    """
    numbers = np.random.default_rng([seed, 13])
    label_of = [(w.domain, w.intent, fixed) for w, fixed in zip(book.wishes, book.fixed, strict=True)]
    labels = sorted(set(label_of))
    at = {label: k for k, label in enumerate(labels)}
    target = np.array([at[label_of[w]] for w in book.wish.tolist()])
    rows = _training_rows(book, target, len(labels), numbers)
    words = HashingVectorizer(ngram_range=(1, 2), n_features=_FEATURES, alternate_sign=False, token_pattern=r"\w+|%")
    intents = SGDClassifier(loss="log_loss", alpha=2e-5, max_iter=12, tol=None, random_state=seed)
    intents.fit(words.transform([book.sentences[k].text for k in rows]), target[rows])
    known, open_sources, factors = _values(book, grammar, lists, numbers)
    finder = SlotFinder(known, open_sources, factors)
    return Nlu(words, intents, labels, finder.fit((labels[target[k]], book.sentences[k]) for k in rows))


def _training_rows(
    book: PhraseBook, target: npt.NDArray[np.int64], labels: int, numbers: np.random.Generator
) -> list[int]:
    """Sentences to train on, in order; of thin intents few."""
    template = np.array([s.template for s in book.sentences])
    unseen = numbers.random(template.max() + 1) < _UNSEEN_TEMPLATES
    most = np.where(numbers.random(labels) < _THIN_INTENTS, _THIN, _MOST)
    usable = np.where(template >= 0, ~unseen[template], True)
    usable &= (template != CORRECTION) | (numbers.random(len(template)) >= _UNSEEN_CORRECTIONS)
    # An intent whose templates are all left out has to be known by something.
    usable |= np.bincount(target[usable], minlength=labels)[target] == 0
    left = most.copy()
    rows = []
    for k in numbers.permutation(np.flatnonzero(usable)).tolist():
        if left[target[k]] > 0:
            left[target[k]] -= 1
            rows.append(k)
    return sorted(rows)


def _values(
    book: PhraseBook, grammar: Grammar, lists: Lists, numbers: np.random.Generator
) -> tuple[dict[str, dict[str, list[str]]], set[str], dict[str, int]]:
    """What the finder knows of each list that slots come from: a part of the open ones, all of the others."""
    spoken: dict[str, dict[str, dict[str, None]]] = {}
    factors: dict[str, int] = {}
    for sentence, wish in zip(book.sentences, book.wish.tolist(), strict=True):
        for slot in sentence.slots:
            text = sentence.text[slot.start : slot.end]
            source = source_of(book.wishes[wish].domain, slot)
            if not text.isdigit():
                spoken.setdefault(source, {}).setdefault(slot.value, {})[text] = None
            elif int(slot.value) < 0:
                factors[source] = -1
    open_sources = {s for s in spoken if s.startswith("name:") or s in lists.free}
    known = {}
    for source in sorted(spoken):
        values = {v: list(texts) for v, texts in sorted(spoken[source].items())}
        keep = numbers.random(len(values)) >= (_UNKNOWN_VALUES if source in open_sources else 0.0)
        known[source] = {v: t for (v, t), kept in zip(values.items(), keep.tolist(), strict=True) if kept}
    return known, open_sources, factors


def merged(lists: Sequence[list[Hypothesis]], weights: Sequence[float]) -> list[Hypothesis]:
    """N-best over several recognitions: the scores of equal readings, weighted by confidence, are summed.

    The slots are as spoken in the first recognition that has the reading.
    """
    total: dict[Reading, float] = {}
    first: dict[Reading, Hypothesis] = {}
    for hypotheses, weight in zip(lists, weights, strict=True):
        for h in hypotheses:
            total[h.reading] = total.get(h.reading, 0.0) + weight * h.score
            first.setdefault(h.reading, h)
    ordered = sorted(total.items(), key=lambda item: -item[1])[:NBEST]
    kept = [(r, s) for k, (r, s) in enumerate(ordered) if k == 0 or s >= _LEAST_SCORE]
    return [first[r]._replace(score=s) for r, s in kept]
