"""A feature of the models in words, from the meanings that schemas declare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from schemas.record import Column
from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

_COLUMNS: Final = {c.name: c for c in (*CANDIDATE_COLUMNS, *SIGNALS.columns)}
# Whose evidence a feature of the turn's design is; see `models.design.turn_design`.
_WHOSE: Final = {"top": "best reading", "second": "runner-up", "other": "most of any other reading"}
# What the regressions of `models.words` say, each from other users' turns.
_WORDS: Final = {
    "words.utterance": "How the words of the request speak of a defect",
    "words.answer": "How the words of the answer speak of a defect",
    "words.reaction": "How the words of the next request speak of a defect",
    "words.exchange": "How the next request's first word after this answer speaks of a defect",
    "words.all": "How all words together speak of a defect",
}
# Over whose turns a pooled figure goes; see `models.prior`.
_POOLED: Final = {
    "candidate": {"top": "others' turns read so", "second": "others' turns read as the runner-up"},
    "value": {"top": "others' turns with its values", "second": "others' turns with the runner-up's values"},
    "answer": {"top": "others' same answers", "second": "others' answers like the runner-up"},
}
_MOST: Final = {
    "candidate": "others' turns read otherwise",
    "value": "others' turns with other values",
    "answer": "others' other answers",
}

# Whose ways the reformulation chain counts, and what of them; see `models.chain`.
_WAYS: Final = {"words": "others who said these words and were read so", "reading": "others who were read so"}
_ENDED: Final = {
    "p": "share who end well in the {reading}",
    "share": "of those who end well in another, share in the {reading}",
    "users": "how many users, as log(1 + n)",
}

# What the session as a whole tells of a reading; see `models.wishes`.
_WISHED: Final = {
    "wish.p": "how far the whole session says that it was wanted",
    "wish.gain": "what the session adds to its score, in log-odds",
}

# Units that a reader wants beside the number; scores, shares and ranks say no more than it.
_COUNTED: Final = ("s", "turns", "tokens", "hypotheses", "candidates", "users", "nats")


@dataclass(frozen=True)
class Phrase:
    """What a feature means.

    Attributes
    ----------
    text : str
        In words.
    unit : str or None
        Unit of its value.
    null : str or None
        What a missing value says; None where the column's meaning does not tell.
    is_bool : bool
        Whether it is a yes or a no.
    """

    text: str
    unit: str | None = None
    null: str | None = None
    is_bool: bool = False

    def plain(self, value: object) -> bool | float | None:
        """A value as JSON holds it: yes or no as a bool, missing as None."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        return bool(value) if self.is_bool else round(float(value), 6)  # type: ignore[arg-type]

    def value(self, plain: bool | float | None) -> str:
        """A plain value for people."""
        if plain is None:
            return f"unknown ({self.null})" if self.null else "unknown"
        if isinstance(plain, bool):
            return "yes" if plain else "no"
        number = f"{plain:.2f}".rstrip("0").rstrip(".")
        if self.unit not in _COUNTED:
            return number
        return f"{number} {self.unit.removesuffix('s') if number == '1' and self.unit != 's' else self.unit}"


def phrase(feature: str) -> Phrase:
    """A feature of the defect model in words; its own name where schemas declare none.

    Parameters
    ----------
    feature : str
        A signal (`negates_next`), a reading's evidence (`top.later_frame`), or a figure pooled over other users
        (`other.prior.candidate.confirmation`), or a figure of the chain (`top.chain.words.p`).
    """
    if feature in _WORDS:
        return Phrase(_WORDS[feature], "log-odds")
    whose, dot, name = feature.partition(".")
    if not dot or whose not in _WHOSE:
        return _column(feature)
    if name.startswith("prior."):
        return _pooled(whose, name)
    if name.startswith("chain."):
        return _chained(whose, name)
    if name in _WISHED:
        return Phrase(f"{_WHOSE[whose]}: {_WISHED[name]}")
    known = _column(name)
    return Phrase(f"{_WHOSE[whose]}: {_small(known.text)}", known.unit, known.null, known.is_bool)


def _column(name: str) -> Phrase:
    column: Column | None = _COLUMNS.get(name)
    if column is None:
        return Phrase(name)
    text, _, null = column.meaning.partition("; null ")
    return Phrase(text, column.unit, null.removeprefix("= ") or None, pa.types.is_boolean(column.type))


def _pooled(whose: str, name: str) -> Phrase:
    _, kind, figure = name.split(".", 2)
    over = _POOLED.get(kind, {}).get(whose) or f"{_MOST.get(kind, kind)}, at most"
    if figure == "subjects":
        return Phrase(f"{over}: how many users, as log(1 + n)")
    return Phrase(f"{over}, mean: {_small(_column(figure).text)}")


def _chained(whose: str, name: str) -> Phrase:
    _, kind, figure = name.split(".", 2)
    text = _ENDED.get(figure, figure).format(reading=_WHOSE[whose])
    return Phrase(f"{_WAYS.get(kind, kind)}: {text}", null="nothing is known of them")


def _small(text: str) -> str:
    """A sentence's start inside another; names in capitals stay."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
