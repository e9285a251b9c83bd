"""Hugging Face token classification: JSON lines of text, intent, tokens and ner_tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline import storage
from pipeline.export.utterances import Utterance


def write(rows: Sequence[Utterance], told: Counter[str], split: str) -> dict[str, bytes]:
    """The file, by name: `<split>.jsonl`."""
    told["rows.written"] += len(rows)
    records = (
        {"id": r.id, "text": r.text, "intent": r.intent, "tokens": r.tokens, "ner_tags": r.tags, "locale": r.locale}
        for r in rows
    )
    return {f"{split}.jsonl": b"".join(storage.canonical_json(record) + b"\n" for record in records)}
