"""Answers that say a candidate's slot values, and how the confirmations among them ended."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.asked import Asked
from features.interpretation import Candidates
from features.occurrences import Occurrences, groups, reach
from features.timeline import Timeline
from features.words import may_hold, word_masks

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]


def says(values: Texts, texts: Texts) -> Mask:
    """Whether each text holds each value as whole words, shape (k,); an empty value is never said.

    Both are normalised.
    """
    pairs = zip((" " + values + " ").tolist(), (" " + texts + " ").tolist(), strict=True)
    held = np.array([value in text for value, text in pairs], dtype=bool)
    return np.asarray(held & (values != ""), dtype=bool)


def echoes(
    candidates: Candidates, wanted: Asked, line: Timeline, response: Texts, confirmation: pa.Array, horizon: int
) -> dict[str, npt.NDArray[np.generic]]:
    """Evidence for each candidate from the answers of its session that say its values.

    `echo` reads the turn's own answer; `later_echo` counts later ones; `affirmed_after` and `denied_after`
    count the turn's own and later answers whose confirmation ended so, `affirmed_before` and `denied_before`
    earlier ones. All within `horizon` turns; a candidate without values has 0 (and false).

    Parameters
    ----------
    candidates : Candidates
        m hypotheses of n turns.
    wanted : Asked
        The k candidates asked about.
    line : Timeline
        Sessions.
    response : numpy.ndarray of object, shape (n,)
        Normalised answers; empty where missing.
    confirmation : pyarrow.Int32Array
        How each answer's confirmation ended, shape (n,); see `features.acts.confirmation`.
    horizon : int
        Turns on either side.
    """
    rows = np.flatnonzero(candidates.value_id[wanted.entry] != 0)
    entry, turn = wanted.entry[rows], wanted.turn[rows]
    group, position = groups(line.session[turn], candidates.value_id[entry]), line.position[turn]
    said_group, said_turn = _said(candidates, line, response, entry, turn, group, horizon)
    outcome = confirmation.fill_null(0).to_numpy()[said_turn]
    longest = int(line.length.max(initial=0))

    def count(mask: Mask, first: int, last: int) -> I64:
        at = line.position[said_turn[mask]]
        events = Occurrences.of(said_group[mask], at, np.ones(int(mask.sum())), horizon, longest)
        out = np.zeros(len(wanted), np.int64)
        out[rows] = events.window(group, position, first, last)[0]
        return out

    everything = np.ones(len(said_turn), bool)
    return {
        "echo": count(everything, 0, 0) > 0,
        "affirmed_after": count(outcome > 0, 0, horizon),
        "denied_after": count(outcome < 0, 0, horizon),
        "affirmed_before": count(outcome > 0, -horizon, -1),
        "denied_before": count(outcome < 0, -horizon, -1),
        "later_echo": count(everything, 1, horizon),
    }


def _said(
    candidates: Candidates, line: Timeline, response: Texts, entry: I64, turn: I64, group: I64, horizon: int
) -> tuple[I64, I64]:
    """(value group, turn) of each answer in reach that says the group's values; each pair is searched once."""
    order = np.lexsort((turn, group))
    owner, position = reach(group[order], line.position[turn[order]], line.length[turn[order]], horizon)
    at = line.starts[turn[order[owner]]] + position
    value = entry[order[owner]]
    likely = may_hold(word_masks(response), word_masks(candidates.values), at, value)
    value, at, said = value[likely], at[likely], group[order[owner]][likely]
    held = says(candidates.values[value], response[at])
    return said[held], at[held]
