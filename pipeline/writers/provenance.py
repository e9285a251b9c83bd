"""What of an example's provenance its views show: all but the pseudonyms of its users, which stay in the lineage."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

_HIDDEN: Final = "subjects"


def shown(examples: pa.Table) -> list[dict[str, Any]]:
    """Provenance of EXAMPLE rows, one object each."""
    return [{k: v for k, v in p.items() if k != _HIDDEN} for p in examples["provenance"].to_pylist()]


def provenance(examples: pa.Table) -> pa.Array:
    """The same as JSON, keys in order, shape (n,)."""
    return pa.array([json.dumps(p, sort_keys=True, ensure_ascii=False) for p in shown(examples)], pa.string())
