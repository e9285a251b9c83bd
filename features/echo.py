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

    A confirmation belongs to what its turn's leading hypothesis says: where that has the same values, it speaks of
    candidates of the same frame only. Where it has others (the answer asks about an earlier request), whose it is is
    not known, and it counts for every candidate with the values.

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
    owned, framed, said_framed = _owners(candidates, entry, group, said_group, said_turn)

    def within(mask: Mask, event: I64, asked: I64, first: int, last: int) -> I64:
        at = line.position[said_turn[mask]]
        events = Occurrences.of(event[mask], at, np.ones(int(mask.sum())), horizon, longest)
        out = np.zeros(len(wanted), np.int64)
        out[rows] = events.window(asked, position, first, last)[0]
        return out

    def said(first: int, last: int) -> I64:
        return within(np.ones(len(said_turn), bool), said_group, group, first, last)

    def ended(mask: Mask, first: int, last: int) -> I64:
        of_frame = within(mask & owned, said_framed, framed, first, last)
        return of_frame + within(mask & ~owned, said_group, group, first, last)

    return {
        "echo": said(0, 0) > 0,
        "affirmed_after": ended(outcome > 0, 0, horizon),
        "denied_after": ended(outcome < 0, 0, horizon),
        "affirmed_before": ended(outcome > 0, -horizon, -1),
        "denied_before": ended(outcome < 0, -horizon, -1),
        "later_echo": said(1, horizon),
    }


def _owners(candidates: Candidates, entry: I64, group: I64, said_group: I64, said_turn: I64) -> tuple[Mask, I64, I64]:
    """Which answers speak of their own turn's leading hypothesis, and groups of (value group, frame).

    Parameters
    ----------
    candidates : Candidates
    entry, group : numpy.ndarray of int64, shape (k,)
        Candidates with values, and their value groups.
    said_group, said_turn : numpy.ndarray of int64, shape (s,)
        Answers that say a group's values.

    Returns
    -------
    owned : numpy.ndarray of bool, shape (s,)
        The leading hypothesis of the answer's turn has the values that it says.
    framed, said_framed : numpy.ndarray of int64, shapes (k,) and (s,)
        Of the candidates, and of the answers with the frame of that hypothesis.
    """
    value = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    value[group] = candidates.value_id[entry]
    has = np.diff(candidates.offsets)[said_turn] > 0
    lead = np.where(has, candidates.offsets[:-1][said_turn], 0)
    owned = has & (candidates.value_id[lead] == value[said_group])
    both = groups(
        np.concatenate([group, said_group]), np.concatenate([candidates.frame_id[entry], candidates.frame_id[lead]])
    )
    return owned, both[: len(group)], both[len(group) :]


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
