"""JointBERT: `seq.in`, `seq.out` and `label`, line by line, and the lists of labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pipeline.export.names import fitted
from pipeline.export.utterances import Utterance

# A label is one word.
_SPACE = r"\s"


def write(rows: Sequence[Utterance], told: Counter[str], split: str) -> dict[str, bytes]:
    """The files, by name: `<split>/seq.in` and its like, `intent_label.txt`, `slot_label.txt`."""
    fit = [row for row in rows if row.tokens]
    told["rows.empty"] += len(rows) - len(fit)
    told["rows.written"] += len(fit)
    intents = fitted((row.intent for row in fit), _SPACE)
    tags = {tag: re.sub(r"\s+", "_", tag) for row in fit for tag in row.tags}
    told["intents.renamed"] += sum(a != b for a, b in intents.items())
    held = {
        f"{split}/seq.in": [" ".join(row.tokens) for row in fit],
        f"{split}/seq.out": [" ".join(tags[t] for t in row.tags) for row in fit],
        f"{split}/label": [intents[row.intent] for row in fit],
        "intent_label.txt": ["UNK", *sorted(intents.values())],
        "slot_label.txt": ["PAD", "UNK", "O", *sorted({*tags.values()} - {"O"})],
    }
    return {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in held.items()}
