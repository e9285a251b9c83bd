"""What of an example's provenance its views show: all but the pseudonyms of its users and
conversations, which stay in the lineage.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline.writers.json_text import arrays, objects, quoted

_HIDDEN: Final = ("subjects", "conversations")


def provenance(examples: pa.Table) -> pa.Array:
    """Provenance of EXAMPLE rows as JSON objects, keys in order, shape (n,)."""
    held = flat(examples["provenance"])
    shown = sorted(f.name for f in held.type if f.name not in _HIDDEN)
    return objects((name, _field(held, name)) for name in shown)


def _field(held: pa.StructArray, name: str) -> pa.Array:
    values = pc.struct_field(held, name)
    return arrays(values) if pa.types.is_list(values.type) else quoted(values)
