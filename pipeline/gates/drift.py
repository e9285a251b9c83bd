"""How far each domain has moved since the parent release: its defects, its intents, the length of its utterances.

What a log is like is kept in the manifest as `profile`: per domain the turns of each intent and of each length, so that
the next release can be held against this one without its turns. Two mixes are held against each other by the
Jensen-Shannon divergence (Lin 1991), base 2: 0 = the same, 1 = nothing in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.spatial.distance import jensenshannon

from pipeline.gates.counts import by_domain
from pipeline.transforms.counts import counts, domain_names

Profile = dict[str, dict[str, dict[str, int]]]
Shifts = dict[str, dict[str, float]]

INTENTS: Final = "intents"
LENGTHS: Final = "lengths"
# Upper ends of the lengths that are told apart, in tokens: each holds about as many utterances of a voice assistant.
_LENGTHS: Final = (1, 2, 4, 8, 16, 32)
_LONGER: Final = f"{_LENGTHS[-1] + 1}+"
# Intents of a domain that are told by name; an agent's tools are named by anybody.
_MOST_INTENTS: Final = 200
_OTHER: Final = "(other)"
_NO_INTENT: Final = "(none)"


def profile_counts(signals: pa.Table) -> pa.Table:
    """COUNT rows of a bucket: turns by domain and intent, and by domain and length.

    Parameters
    ----------
    signals : pyarrow.Table
        Signals rows.
    """
    domain = domain_names(signals["domain"])
    intent = pc.fill_null(signals["intent"].combine_chunks(), _NO_INTENT)
    bins = np.searchsorted(_LENGTHS, pc.fill_null(signals["utterance_tokens"], 0).to_numpy())
    length = pa.array([*map(str, _LENGTHS), _LONGER]).take(pa.array(bins))
    found: dict[tuple[str, str | None], int] = {}
    for name, values in ((INTENTS, intent), (LENGTHS, length)):
        table = (
            pa.table({"domain": domain, "value": values}).group_by(["domain", "value"]).aggregate([([], "count_all")])
        )
        for row in table.to_pylist():
            found[f"{name}.{row['value']}", row["domain"]] = row["count_all"]
    return counts("profile", {}, None, found)


def profile(told: pa.Table) -> Profile:
    """What a log is like, from its summed `profile_counts`: domain to `intents` and `lengths`, name to turns."""
    out: Profile = {}
    for domain, held in sorted(by_domain(told).items()):
        mixes: dict[str, dict[str, int]] = {INTENTS: {}, LENGTHS: {}}
        for outcome, turns in held.items():
            name, _, value = outcome.partition(".")
            mixes[name][value] = turns
        out[domain] = {INTENTS: _most(mixes[INTENTS]), LENGTHS: mixes[LENGTHS]}
    return out


def _most(intents: dict[str, int]) -> dict[str, int]:
    """The most frequent by name, the rest together."""
    ordered = sorted(intents.items(), key=lambda pair: (-pair[1], pair[0]))
    held = dict(sorted(ordered[:_MOST_INTENTS]))
    rest = sum(turns for _, turns in ordered[_MOST_INTENTS:])
    return held | ({_OTHER: rest} if rest else {})


def shifts(
    now: Profile, before: Profile, defects: Mapping[str, Any], defects_before: Mapping[str, Any], min_turns: int
) -> Shifts:
    """`defect_shift`, `intent_shift` and `length_shift` of each domain that has enough turns in both releases.

    Parameters
    ----------
    now, before : dict
        Profiles.
    defects, defects_before : mapping
        Domain to `turns` and `defects`.
    min_turns : int
        With fewer, in either release, a domain's mix says little.
    """
    out: Shifts = {}
    for domain in sorted(now.keys() & before.keys()):
        held = [counted.get(domain, {}) for counted in (defects, defects_before)]
        if min(h.get("turns", 0) for h in held) < min_turns:
            continue
        share = [h.get("defects", 0) / h["turns"] for h in held]
        out[domain] = {
            "defect_shift": abs(share[0] - share[1]),
            "intent_shift": divergence(now[domain][INTENTS], before[domain][INTENTS]),
            "length_shift": divergence(now[domain][LENGTHS], before[domain][LENGTHS]),
        }
    return out


def divergence(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Jensen-Shannon divergence of two mixes, base 2."""
    names = sorted(first.keys() | second.keys())
    mixes = (np.array([mix.get(name, 0) for name in names], np.float64) for mix in (first, second))
    return float(jensenshannon(*mixes, base=2.0) ** 2)
