"""JointBERT: `seq.in`, `seq.out` and `label`, line by line, and the lists of labels."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

from pipeline.export.names import Names, count_renamed, fitted
from pipeline.export.utterances import Splits

# A label is one word.
_SPACE = r"\s"


def write(splits: Splits, names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The files, by name: `<split>/seq.in` and its like, and the lists of labels over all these splits."""
    intents = fitted(names.intents, _SPACE)
    labels: set[str] = set()
    tags: set[str] = set()
    held = {}
    count_renamed(chain.from_iterable(splits.values()), told, intents)
    for split, rows in splits.items():
        fit = [row for row in rows if row.tokens]
        told["rows.empty"] += len(rows) - len(fit)
        told["rows.written"] += len(fit)
        tagged = [[re.sub(r"\s+", "_", tag) for tag in row.tags] for row in fit]
        held |= {
            f"{split}/seq.in": [" ".join(row.tokens) for row in fit],
            f"{split}/seq.out": [" ".join(line) for line in tagged],
            f"{split}/label": [intents[row.intent] for row in fit],
        }
        labels.update(held[f"{split}/label"])
        tags.update(*tagged)
    held["intent_label.txt"] = ["UNK", *sorted(labels)]
    held["slot_label.txt"] = ["PAD", "UNK", "O", *sorted(tags - {"O"})]
    return {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in held.items()}
