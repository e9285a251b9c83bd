"""What the recogniser makes of a sentence: the words, or others that sound alike, with confidences."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

# Ways in which each sentence may be misheard. Few, so that many users are misheard in the same way.
SLIPS: Final = 2
# Most hypotheses of a recognition.
HYPOTHESES: Final = 3
# Of slips, those that take a word for one that sounds alike (where there is one), and those that lose a word; the
# others lose the first or the last word.
_SWAP: Final = 0.55
_DROP: Final = 0.25
# How often the words that were said are among the other hypotheses, and how often a second slip is.
_SAID_LISTED: Final = 0.75
_SLIP_LISTED: Final = 0.4
# Beta distributions of the best confidence where all was heard and where not: they overlap, as real ones do.
_HEARD: Final = (9.0, 1.6)
_MISHEARD: Final = (5.0, 3.0)


@dataclass(frozen=True)
class Heard:
    """Recognitions: `SLIPS` + 1 a sentence, the first without a slip.

    Attributes
    ----------
    texts : list of list of str
        Hypotheses of each recognition, best first.
    confidence : numpy.ndarray, shape (recognitions, HYPOTHESES)
        Their confidences, falling; NaN where there is no hypothesis.
    """

    texts: list[list[str]]
    confidence: F64


def hear(sentences: Sequence[str], pairs: Sequence[tuple[str, str]], seed: int) -> Heard:
    """Recognitions of each sentence.

    Parameters
    ----------
    sentences : sequence of str
    pairs : sequence of (str, str)
        Words that sound alike.
    seed : int
    """
    draw, numbers = random.Random(f"hearing/{seed}"), np.random.default_rng([seed, 11])
    alike: dict[str, list[str]] = {}
    for left, right in pairs:
        alike.setdefault(left, []).append(right)
        alike.setdefault(right, []).append(left)
    texts: list[list[str]] = []
    for said in sentences:
        slips = [_slip(said, alike, draw) for _ in range(SLIPS)]
        texts.append(_distinct([said, *(s for s in slips[:1] if draw.random() < _SLIP_LISTED)]))
        for k, slip in enumerate(slips):
            others = [said] if draw.random() < _SAID_LISTED else []
            others += [slips[1 - k]] if draw.random() < _SLIP_LISTED else []
            texts.append(_distinct([slip, *others]))
    return Heard(texts, _confidences([len(t) for t in texts], numbers))


def _confidences(counts: Sequence[int], numbers: np.random.Generator) -> F64:
    n = len(counts)
    clean = np.arange(n) % (SLIPS + 1) == 0
    first = np.where(clean, numbers.beta(*_HEARD, n), numbers.beta(*_MISHEARD, n))
    fall = np.where(clean[:, None], numbers.uniform(0.2, 0.7, (n, 2)), numbers.uniform(0.5, 0.98, (n, 2)))
    held = first[:, None] * np.column_stack([np.ones(n), np.cumprod(fall, axis=1)])
    held[np.arange(HYPOTHESES) >= np.array(counts)[:, None]] = np.nan
    return np.asarray(held, dtype=np.float64)


def _slip(said: str, alike: dict[str, list[str]], draw: random.Random) -> str:
    """The sentence with one slip; a single word without a sound-alike is heard as it is."""
    words = said.split()
    swappable = [k for k, word in enumerate(words) if word in alike]
    chance = draw.random()
    if swappable and chance < _SWAP:
        at = draw.choice(swappable)
        return " ".join([*words[:at], draw.choice(alike[words[at]]), *words[at + 1 :]])
    if len(words) == 1:
        return said
    at = draw.randrange(len(words)) if chance < _SWAP + _DROP else draw.choice([0, len(words) - 1])
    return " ".join([*words[:at], *words[at + 1 :]])


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))
