"""How far each domain has moved since the parent release: its defects, its intents, the length of its utterances.

What a log is like is kept in the manifest as `profile`: per domain the turns of each intent and of each length, so that
the next release can be held against this one without its turns. Two mixes are held against each other by the
Jensen-Shannon divergence (Lin 1991), base 2: 0 = the same, 1 = nothing in common.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from scipy.spatial.distance import jensenshannon

from features.hashing import hash_text
from pipeline.gates.counts import by_domain
from pipeline.transforms.profile import INTENTS, LENGTHS

Profile = dict[str, dict[str, dict[str, int]]]
Shifts = dict[str, dict[str, float]]

TURNS: Final = "turns"
# Intents of a domain that are told by name; an agent's tools are named by anybody.
_MOST_INTENTS: Final = 200


def profile(told: pa.Table, counted: Mapping[str, Mapping[str, int]]) -> Profile:
    """What a log is like: domain to `intents` and `lengths`, name to turns, and to `turns` with their `defects`.

    Parameters
    ----------
    told : pyarrow.Table
        Summed `profile_counts`.
    counted : mapping
        Domain to `turns` and `defects`.
    """
    out: Profile = {}
    for domain, held in sorted(by_domain(told).items()):
        mixes: dict[str, dict[str, int]] = {INTENTS: {}, LENGTHS: {}}
        for outcome, turns in held.items():
            name, _, value = outcome.partition(".")
            mixes[name][value] = turns
        judged = {k: counted.get(domain, {}).get(k, 0) for k in ("turns", "defects")}
        out[domain] = {INTENTS: _binned(mixes[INTENTS]), LENGTHS: mixes[LENGTHS], TURNS: judged}
    return out


def _binned(intents: dict[str, int]) -> dict[str, int]:
    """All by name where they are few, else by a hash of the name: every release sorts a name into the same place."""
    if len(intents) <= _MOST_INTENTS:
        return intents
    out: dict[str, int] = {}
    for name, turns in sorted(intents.items()):
        place = f"(hash {hash_text(name) % _MOST_INTENTS:03d})"
        out[place] = out.get(place, 0) + turns
    return dict(sorted(out.items()))


def baseline(now: Profile, before: Profile, quarantined: Collection[str], min_turns: int) -> Profile:
    """What the next release is held against: of a domain that is quarantined, or that has too few turns to tell, what
    its own parent was like, as its examples are those of then.
    """
    held = {d: p for d, p in now.items() if d not in quarantined and p[TURNS]["turns"] >= min_turns}
    rest = {d: before.get(d, p) for d, p in now.items()}
    return dict(sorted({**before, **rest, **held}.items()))


def shifts(now: Profile, before: Profile, min_turns: int) -> Shifts:
    """`defect_shift`, `intent_shift` and `length_shift` of each domain that has enough turns in both releases.

    Parameters
    ----------
    now, before : dict
        Profiles.
    min_turns : int
        With fewer, in either release, a domain's mix says little.
    """
    out: Shifts = {}
    for domain in sorted(now.keys() & before.keys()):
        held = [side[domain][TURNS] for side in (now, before)]
        if min(h["turns"] for h in held) < min_turns:
            continue
        share = [h["defects"] / h["turns"] for h in held]
        out[domain] = {
            "defect_shift": abs(share[0] - share[1]),
            "intent_shift": moved(now[domain][INTENTS], before[domain][INTENTS]),
            "length_shift": moved(now[domain][LENGTHS], before[domain][LENGTHS]),
        }
    return out


def moved(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Divergence of two mixes less what two draws of one mix differ by: (k - 1) / (8 ln 2) (1/n + 1/m) in expectation,
    for k names and n and m turns (Grosse et al. 2002, Phys. Rev. E 65, 041905).
    """
    names = len(first.keys() | second.keys())
    noise = (names - 1) / (8.0 * math.log(2.0)) * (1.0 / sum(first.values()) + 1.0 / sum(second.values()))
    return max(0.0, divergence(first, second) - noise)


def divergence(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Jensen-Shannon divergence of two mixes, base 2."""
    names = sorted(first.keys() | second.keys())
    mixes = (np.array([mix.get(name, 0) for name in names], np.float64) for mix in (first, second))
    return float(jensenshannon(*mixes, base=2.0) ** 2)
