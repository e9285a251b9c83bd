"""The `nlu` view: text, intent, slots and BIO tags, in the fields that Hugging Face datasets use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from pipeline.writers.provenance import provenance
from schemas import NLU

_TOKEN: Final = re.compile(r"\S+")


def nlu(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    A slot's span is the logged one, else the first place where its value stands as whole words, letter case aside; a
    slot without a span is in `slots` but has no tag.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.
    """
    slots, tokens, tags = [], [], []
    for text, given in zip(examples["utterance"].to_pylist(), examples["slots"].to_pylist(), strict=True):
        located = [locate(text, slot) for slot in given or []]
        slots.append(json.dumps(located, sort_keys=True, ensure_ascii=False))
        words, marks = bio(text, located)
        tokens.append(words)
        tags.append(marks)
    own = {
        "id": examples["example_id"],
        "text": examples["utterance"],
        "slots": pa.array(slots, pa.string()),
        "tokens": pa.array(tokens, pa.list_(pa.string())),
        "ner_tags": pa.array(tags, pa.list_(pa.string())),
        "provenance": provenance(examples),
    }
    return NLU.conform(pa.table([own[n] if n in own else examples[n] for n in NLU.names], names=list(NLU.names)))


def locate(text: str, slot: dict[str, Any]) -> dict[str, Any]:
    """The slot with a span, where it can be found. Offsets are code points, half-open."""
    start, end, value = slot["start"], slot["end"], slot["value"] or ""
    if start is not None and end is not None and 0 <= start < end <= len(text):
        return dict(slot)
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) if value else None
    span = found.span() if found else (None, None)
    return {**slot, "start": span[0], "end": span[1]}


def bio(text: str, slots: Iterable[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Whitespace tokens and their tags: B- on a slot's first token, I- on the next ones, else O.

    A slot without a name has no tag. Of two slots on one token the first in the list has it; a slot whose first token
    is taken begins on its next.
    """
    words, tags = [], []
    spans = [(s["start"], s["end"], s["name"]) for s in slots if s["start"] is not None and s["name"]]
    before = None
    for token in _TOKEN.finditer(text):
        words.append(token.group())
        hit = next((k for k, (a, b, _) in enumerate(spans) if a < token.end() and b > token.start()), None)
        tags.append("O" if hit is None else ("I-" if hit == before else "B-") + spans[hit][2])
        before = hit
    return words, tags
