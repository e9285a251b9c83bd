"""The reward: does a reply say the right interpretation. Standard library only, so that any trainer can load the file.

A reply is one JSON object `{"domain", "intent", "slots": [{"name", "value"}]}` and nothing else. It earns 1.0 if it
means the same as the answer (slots in any order), else at most half for domain and intent, and half for the slots by
their F1. Slots that the answer lacks earn nothing where intent is wrong: an empty list is no knowledge.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

INTENT_SHARE = 0.5


def score(reply: str, answer: str) -> float:
    """Reward of a reply in [0, 1]; 0 if it is not JSON of the form that was asked for."""
    said, right = parse(reply), parse(answer)
    if right is None:
        raise ValueError(f"an answer that is no interpretation: {answer[:80]!r}")
    if said is None:
        return 0.0
    same_intent = said[:2] == right[:2]
    slots = _f1(said[2], right[2]) if said[2] or right[2] else float(same_intent)
    return INTENT_SHARE * same_intent + (1.0 - INTENT_SHARE) * slots


def parse(text: str) -> tuple[str | None, str | None, Counter[tuple[str | None, str | None]]] | None:
    """Domain, intent and slots of a reply; None if it is of another form. Names once, no other keys, no NaN."""
    try:
        held = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(held, dict)
        or held.keys() != {"domain", "intent", "slots"}
        or not isinstance(held["slots"], list)
    ):
        return None
    pairs = [_pair(slot) for slot in held["slots"]]
    if None in pairs or not all(_is_text(held[name]) for name in ("domain", "intent")):
        return None
    return held["domain"], held["intent"], Counter(pairs)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **_: Any
) -> float:
    """The same, as verl calls it (`custom_reward_function.path`)."""
    return score(solution_str, ground_truth)


def grpo_reward(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
    """The same, as TRL's GRPOTrainer calls it with the columns of `rl`; a completion is text or messages."""
    texts = [c if isinstance(c, str) else c[-1]["content"] or "" for c in completions]
    return [score(text, right) for text, right in zip(texts, answer, strict=True)]


def _f1(said: Counter[Any], right: Counter[Any]) -> float:
    hits = (said & right).total()
    return 2.0 * hits / (said.total() + right.total())


def _pair(slot: Any) -> tuple[str | None, str | None] | None:
    fits = isinstance(slot, dict) and slot.keys() == {"name", "value"} and all(map(_is_text, slot.values()))
    return (slot["name"], slot["value"]) if fits else None


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise ValueError("a name stands twice")
    return held


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
