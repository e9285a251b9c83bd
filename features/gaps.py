"""Place and time of a turn in its session."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.neighbours import masked, shift
from features.text import is_true
from features.timeline import Timeline


def gaps(turns: pa.Table, line: Timeline) -> dict[str, pa.Array]:
    """Turns and seconds before and after, skipped positions, change of conversation.

    A *skipped* position is one that the log counts but that held no request (silence, noise): the difference
    of `sequence` less one, never below 0, and only within one conversation. Null at a session's bounds, and before a
    turn that names its parent: its `sequence` may be its depth (`features.parents`), of which branches hold several.
    """
    after, has_next = line.neighbour(1)
    before, has_previous = line.neighbour(-1)
    sequence = turns["sequence"].to_numpy()
    conversation = strings(turns["conversation_id"])
    same_next = has_next & (conversation == conversation[after])
    same_previous = has_previous & (conversation == conversation[before])
    linked = is_true(turns["parent_id"].is_valid())
    gap_after = masked(line.seconds[after] - line.seconds, has_next, pa.float32())
    return {
        "turns_before": pa.array(line.position, pa.int32()),
        "turns_after": pa.array(line.length - 1 - line.position, pa.int32()),
        "new_conversation": masked(~same_previous, has_previous, pa.bool_()),
        "gap_before": shift(gap_after, line, -1),
        "gap_after": gap_after,
        "skipped_before": masked(np.maximum(sequence - sequence[before] - 1, 0), same_previous & ~linked, pa.int32()),
        "skipped_after": masked(np.maximum(sequence[after] - sequence - 1, 0), same_next & ~linked[after], pa.int32()),
    }


def barge_in(turns: pa.Table, line: Timeline) -> dict[str, pa.Array]:
    """Whether this request, and the next one, cut the system's speech short; null = not logged or no next
    turn.
    """
    own = pc.cast(turns["barge_in"].combine_chunks(), pa.bool_())
    return {"barge_in": own, "barge_in_next": shift(own, line, 1)}
