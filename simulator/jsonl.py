"""Arrow columns as JSON text, column by column instead of row by row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets


def as_json(values: pa.Array) -> pa.Array:
    """Each value as JSON text, shape (n,); null is `null`.

    Parameters
    ----------
    values : pyarrow.Array
        Of strings without control characters, numbers that are finite, booleans, structs, or lists of them.
    """
    type = values.type
    if pa.types.is_null(type):
        return pa.repeat("null", len(values))
    if pa.types.is_string(type):
        text = pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')
        text = pc.binary_join_element_wise('"', text, '"', "")
    elif pa.types.is_struct(type):
        members = {type.field(k).name: values.field(k) for k in range(type.num_fields)}
        text = objects({name: as_json(member) for name, member in members.items()})
    elif pa.types.is_list(type):
        offsets = pa.array(list_offsets(values), pa.int32())
        items = pc.binary_join(pa.ListArray.from_arrays(offsets, as_json(values.flatten())), ",")
        text = pc.binary_join_element_wise("[", items, "]", "")
    else:
        text = values.cast(pa.string())
    return pc.if_else(values.is_valid(), text, "null")


def objects(members: dict[str, pa.Array]) -> pa.Array:
    """JSON objects from JSON values by name, shape (n,)."""
    parts: list[pa.Array | str] = []
    for name, values in members.items():
        parts += [f'{"," if parts else "{"}"{name}":', values]
    return pc.binary_join_element_wise(*parts, "}", "")


def lines(members: dict[str, pa.Array]) -> bytes:
    """JSON objects, one a line."""
    text = pc.binary_join_element_wise(objects(members), "\n", "")
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text), "")
    return bytes(whole[0].as_buffer()) if len(text) else b""


def present(table: pa.Table) -> list[str]:
    """Columns that hold anything."""
    return [name for name in table.column_names if table[name].null_count < max(table.num_rows, 1)]
