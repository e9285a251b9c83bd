"""Groups of signals, told by the names of their columns.

A group is taken away by blanking its columns (NaN, as if never logged), so that labelling functions which read them
abstain.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from models.design import Design

# Of a column's name without whose evidence it is; the first that fits. What fits none is the group `other`.
GROUPS: Final = {
    "pooled prior": r"prior\.",
    "reformulation chain": r"chain\.",
    "confidence": r"asr_|top_score|score_(margin|entropy)",
    "n-best": r"(mass|rank|share|repeats|kin|kin_mass|candidates_distinct|is_top)$",
    "earlier interpretations": r"earlier_|(denied|affirmed)_before",
    "later interpretations": (
        r"later_|(denied|affirmed)_after|same_(interpretation|frame)|next_value|support_offset|slots_(kept|changed)|"
        r"ends_friction"
    ),
    "rephrase": r"(partial_)?rephrase|repeats_|edited_|regenerated",
    "time": r"gap_|dwell|turns_(before|after)|skipped_|new_conversation|barge_in",
    "system words": (
        r"asked_confirmation|asks_confirmation|confirmation|system_|question_|response_|apologises|cannot_help|"
        r"falls_back|clarifies|hands_off|abandoned|prompt_|outcome_|tool_|echo"
    ),
    "user words": (
        r"utterance_|negates|affirms|goes_back|restarts|corrects|asks_back|gives_up|closes|escalates|thanks|says_sorry|"
        r"sentiment|complains|pastes_error|explicit_rating"
    ),
}
OTHER: Final = "other"
EVERY: Final = "all signals"
_WHOSE: Final = re.compile(r"^(top|second|other|candidate|vs_top)\.")


def group_of(column: str) -> str:
    """The group of a design's column."""
    name = _WHOSE.sub("", column)
    return next((group for group, pattern in GROUPS.items() if re.match(pattern, name)), OTHER)


def groups_in(design: Design) -> tuple[str, ...]:
    """Groups of which a column tells one row from another; the others have nothing to add."""
    null = np.isnan(design.values)
    low, high = (f(design.values, axis=0, initial=b) for f, b in ((np.fmin.reduce, np.inf), (np.fmax.reduce, -np.inf)))
    telling = (low < high) | (null.any(axis=0) & ~null.all(axis=0))
    held = {group_of(name) for name, tells in zip(design.names, telling, strict=True) if tells}
    return tuple(g for g in (*GROUPS, OTHER) if g in held)


def without(design: Design, group: str | None) -> Design:
    """The design with a group's columns blank; with None, or what is no group of columns, as it is."""
    gone = np.array([group in (EVERY, group_of(name)) for name in design.names])
    return Design(np.where(gone, np.float32(np.nan), design.values), design.names) if gone.any() else design
