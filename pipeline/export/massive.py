"""MASSIVE: JSON lines a locale, slots marked `[name : text]`.

The marks cannot be escaped, so a line is read back: one that comes out otherwise is left out, and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Final

from pipeline import storage
from pipeline.export.names import Names, count_renamed, fitted
from pipeline.export.utterances import Splits

_SLOT: Final = re.compile(r"\[(?P<name>[^\[\]]+?) : (?P<text>[^\[\]]*)\]")
_NO_NAME: Final = r"[\[\]:\s]"


def write(splits: Splits, names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The files, by name: `<locale>.jsonl`; `partition` names the split."""
    slots = fitted(names.slots, _NO_NAME)
    count_renamed(chain.from_iterable(splits.values()), told, slots=slots)
    lines: dict[str, list[bytes]] = {}
    for split, row in ((split, row) for split, rows in splits.items() for row in rows):
        marked = "".join(f"[{slots[span.name]} : {text}]" if span else text for text, span in row.parts())
        wanted = [(slots[span.name], span.start, span.end) for span in row.spans]
        if parse(marked) != (row.text, wanted):
            told["rows.unmarkable"] += 1
            continue
        told["rows.written"] += 1
        record = {
            "id": row.id,
            "locale": row.locale,
            "partition": split,
            "scenario": row.domain,
            "intent": row.intent,
            "utt": row.text,
            "annot_utt": marked,
        }
        lines.setdefault(row.locale, []).append(storage.canonical_json(record) + b"\n")
    return {f"{locale}.jsonl": b"".join(held) for locale, held in sorted(lines.items())}


def parse(marked: str) -> tuple[str, list[tuple[str, int, int]]]:
    """Text and slots (name, start, end) of a marked utterance."""
    text, slots, at = "", [], 0
    for match in _SLOT.finditer(marked):
        text += marked[at : match.start()]
        slots.append((match["name"], len(text), len(text) + len(match["text"])))
        text += match["text"]
        at = match.end()
    return text + marked[at:], slots
