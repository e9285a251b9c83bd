"""Repetition: the user says the very same words again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from features.hashing import hash_text, hash_texts
from features.neighbours import masked
from features.occurrences import Occurrences, groups
from features.timeline import Timeline


def repetition(normalised: pa.Array, line: Timeline, horizon: int) -> dict[str, pa.Array]:
    """Turns of the session with the same words, within `horizon` turns on either side.

    `repeats_next` is null at a session's last turn, the counts never are. An utterance of no words (punctuation only)
    repeats nothing.

    Parameters
    ----------
    normalised : pyarrow.StringArray, or dictionary-encoded
        Normalised utterances, shape (n,).
    line : Timeline
        Sessions, n turns.
    horizon : int
        Turns.
    """
    hashes = hash_texts(normalised)
    group = groups(line.session, hashes.view(np.int64))
    spoken = hashes != hash_text("")
    longest = int(line.length.max(initial=0))
    said = Occurrences.of(group[spoken], line.position[spoken], np.ones(int(spoken.sum())), horizon, longest)
    before = said.window(group, line.position, -horizon, -1)[0]
    after = said.window(group, line.position, 1, horizon)[0]
    following, has_next = line.neighbour(1)
    return {
        "repeats_before": pa.array(np.where(spoken, before, 0), pa.int32()),
        "repeats_next": masked(spoken & (group == group[following]), has_next, pa.bool_()),
        "repeats_after": pa.array(np.where(spoken, after, 0), pa.int32()),
    }
