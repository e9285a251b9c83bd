"""What a line or a row may give, and where it stood."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from schemas import LOGGED_TURN, SOURCE
from schemas.turn import TURN

# The columns of a logged turn, less `source`, which says where the line stands.
FIELDS: Final = pa.schema([f for f in LOGGED_TURN.schema if f.name != "source"])
# Accepted in the input, and computed again: what follows from the ids, and where the record stands.
IGNORED: Final = frozenset(TURN.names) - frozenset(FIELDS.names)


def located(table: pa.Table, uri: str, positions: pa.Array) -> pa.Table:
    """The fields as logged turns, with the file and the lines or rows that they were read from."""
    source = pa.StructArray.from_arrays([pa.repeat(uri, table.num_rows), positions], fields=list(SOURCE))
    return table.append_column("source", source).select(LOGGED_TURN.names)


def finite(table: pa.Table) -> bool:
    """No NaN and no infinity, which Arrow reads but JSON does not have."""
    numbers = (
        table["explicit_rating"],
        table["propensity"],
        pc.struct_field(pc.list_flatten(table["asr"]), "confidence"),
        pc.struct_field(pc.list_flatten(table["interpretations"]), "score"),
    )
    return all(pc.all(pc.is_finite(n), min_count=0).as_py() for n in numbers)
