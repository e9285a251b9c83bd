"""Texts that several views show of an example, built once for all of them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from features.text import flat
from pipeline.writers.provenance import provenance
from pipeline.writers.slots import interpretations

# Columns beside those of an example, among the writers only.
_PROVENANCE: Final = "text.provenance"
_LABEL: Final = "text.label"


def with_texts(examples: pa.Table) -> pa.Table:
    """EXAMPLE rows with the texts as further columns; a table that has them stays as it is."""
    if _LABEL in examples.column_names:
        return examples
    held = examples.append_column(_PROVENANCE, provenance(examples))
    return held.append_column(_LABEL, interpretations(*(flat(examples[c]) for c in ("domain", "intent", "slots"))))


def provenance_text(examples: pa.Table) -> pa.Array:
    """Provenance as JSON, shape (n,)."""
    return flat(with_texts(examples)[_PROVENANCE])


def label_text(examples: pa.Table) -> pa.Array:
    """The label as an interpretation in compact JSON, shape (n,)."""
    return flat(with_texts(examples)[_LABEL])
