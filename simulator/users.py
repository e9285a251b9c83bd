"""Who the users are: what they like to ask for, how they react, what they speak into. It follows from the seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

# Wishes that a user has over and over, and how often it is one of them.
FAVOURITES: Final = 16
_FAVOURITE: Final = 0.75
# How often a user says a wish in the words that they always use for it.
_HABIT: Final = 0.75
# Spread of activity (of its logarithm), and how many times the median the busiest user talks.
_SPREAD: Final = 0.7
_BUSIEST: Final = 5.0
# Times that a user tries a wish before giving up: one to four, mostly three or four.
_PATIENCE: Final = 4
CHANNELS: Final = ("speaker", "phone", "wall panel")
_CHANNELS_UP_TO: Final = (0.7, 0.9, 1.0)
APP_VERSIONS: Final = ("5.1.0", "5.2.0", "5.3.1")


@dataclass(frozen=True)
class Users:
    """A range of users, one entry each.

    Attributes
    ----------
    number : numpy.ndarray of int64
        Number in the whole population.
    favourites : numpy.ndarray of int64, shape (users, FAVOURITES)
        Wishes, the dearest first.
    activity : numpy.ndarray
        How much they talk, against the others.
    mumbles, speaks_up, polite : numpy.ndarray
        Factors of how often they are misheard, react when wronged, and thank; the mean is 1.
    patience : numpy.ndarray of int64
        Tries before they give up.
    channel, app_version : numpy.ndarray of int64
    consent : numpy.ndarray of bool
    """

    number: I64
    favourites: I64
    activity: F64
    mumbles: F64
    speaks_up: F64
    polite: F64
    patience: I64
    channel: I64
    app_version: I64
    consent: npt.NDArray[np.bool_]


def users(first: int, last: int, wish_weight: F64, no_consent: float, seed: int) -> Users:
    """Users `first` to `last` (not included).

    Parameters
    ----------
    first, last : int
    wish_weight : numpy.ndarray, shape (wishes,)
        How often wishes are had by all.
    no_consent : float
        Share of users who give none.
    seed : int
    """
    number = np.arange(first, last, dtype=np.int64)
    column = np.arange(FAVOURITES, dtype=np.int64)
    cumulative = np.cumsum(wish_weight)
    liked = uniform(seed, number[:, None], column + 100) * cumulative[-1]
    return Users(
        number=number,
        favourites=np.searchsorted(cumulative, liked, side="right").clip(0, len(wish_weight) - 1),
        activity=np.minimum(np.exp(_SPREAD * ndtri(uniform(seed, number, 1).clip(1e-9))), _BUSIEST),
        mumbles=0.4 + 1.2 * uniform(seed, number, 2),
        speaks_up=0.5 + uniform(seed, number, 3),
        polite=2.0 * uniform(seed, number, 4),
        patience=1 + (np.sqrt(uniform(seed, number, 5)) * _PATIENCE).astype(np.int64),
        channel=np.searchsorted(_CHANNELS_UP_TO, uniform(seed, number, 6), side="right"),
        app_version=(uniform(seed, number, 7) * len(APP_VERSIONS)).astype(np.int64),
        consent=uniform(seed, number, 8) >= no_consent,
    )


def wishes_of(people: Users, at: I64, wish_cumulative: F64, numbers: np.random.Generator) -> I64:
    """A wish for each of the users `at`: mostly a favourite, the dearest most often."""
    n = len(at)
    # The logarithmic law: rank k of m with a share of about 1 / k.
    rank = np.minimum(np.exp(numbers.random(n) * np.log(FAVOURITES)).astype(np.int64) - 1, FAVOURITES - 1)
    other = np.searchsorted(wish_cumulative, numbers.random(n) * wish_cumulative[-1], side="right")
    other = other.clip(0, len(wish_cumulative) - 1)
    taken = np.where(numbers.random(n) < _FAVOURITE, people.favourites[at, rank], other)
    return np.asarray(taken, dtype=np.int64)


def wording(people: Users, at: I64, wish: I64, seed: int, numbers: np.random.Generator) -> F64:
    """A draw from [0, 1) by which each of the users `at` words a wish: mostly their own, always the same."""
    own = uniform(seed, people.number[at], wish + 1_000)
    return np.where(numbers.random(len(at)) < _HABIT, own, numbers.random(len(at)))


def uniform(seed: int, *keys: I64 | int) -> F64:
    """Stable draws from [0, 1) by key: SplitMix64 (Steele et al. 2014) over the keys in turn."""
    state: U64 = np.asarray(seed + 1, np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            state = _mixed(state ^ _mixed(np.asarray(key).astype(np.uint64)))
    return np.asarray((state >> np.uint64(11)).astype(np.float64) / float(1 << 53), dtype=np.float64)


def _mixed(value: U64) -> U64:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)), dtype=np.uint64)
