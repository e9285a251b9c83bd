from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from golden_views import slot
from hypothesis import given
from hypothesis import strategies as st

from pipeline.writers.json_text import arrays, objects, quoted, scalars
from pipeline.writers.slots import arguments, interpretations
from pipeline.writers.tokens import tokens
from schemas import EXAMPLE

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\x00\x1f\x7f\u2028/'), max_size=6)
TEXTS = st.lists(st.none() | TEXT, max_size=5)


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(TEXTS)
def test_a_text_is_written_as_json_writes_it(texts: list[str | None]):
    assert quoted(pa.array(texts, pa.string())).to_pylist() == [dumped(t) for t in texts]
    padded = pa.array([None, *texts, "x"], pa.string()).slice(1, len(texts))
    assert quoted(padded).to_pylist() == [dumped(t) for t in texts]


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(), max_size=5))
def test_numbers_are_written_as_json_writes_them(values: list[Any]):
    floats = [v for v in values if not isinstance(v, bool)]
    truths = [v for v in values if not isinstance(v, float)]
    assert scalars(pa.array(floats, pa.float64())).to_pylist() == [dumped(v) for v in floats]
    assert scalars(pa.array(truths, pa.bool_())).to_pylist() == [dumped(v) for v in truths]


@given(st.lists(st.none() | TEXTS, max_size=4))
def test_lists_and_objects_are_written_as_json_writes_them(lists: list[Any]):
    held = arrays(pa.array(lists, pa.list_(pa.string())))
    assert held.to_pylist() == [dumped(v) for v in lists]
    assert objects([("a", held), ("b", held)]).to_pylist() == [dumped({"a": v, "b": v}) for v in lists]


SLOTS = st.lists(st.builds(slot, st.none() | TEXT, st.none() | TEXT), max_size=4)


@given(st.lists(st.tuples(st.none() | TEXT, st.none() | SLOTS), max_size=4))
def test_interpretations_and_arguments_are_those_of_a_row_at_a_time(rows: list[Any]):
    slots = pa.array([s for _, s in rows], EXAMPLE.schema.field("slots").type)
    texts = pa.array([t for t, _ in rows], pa.string())
    compact = {"separators": (",", ":"), "ensure_ascii": False}
    for (text, held), meant, called in zip(
        rows, interpretations(texts, texts, slots).to_pylist(), arguments(slots).to_pylist(), strict=True
    ):
        pairs = sorted(((s["name"], s["value"]) for s in held or []), key=lambda p: (p[0] or "", p[1] or ""))
        named = [{"name": n, "value": v} for n, v in pairs]
        assert meant == json.dumps({"domain": text, "intent": text, "slots": named}, **compact)
        values: dict[str, list[str | None]] = {}
        for s in held or []:
            values.setdefault(s["name"] or "", []).append(s["value"])
        wanted = {k: v[0] if len(v) == 1 else v for k, v in sorted(values.items())}
        assert called == json.dumps(wanted, **compact)


SPACED = st.text(st.sampled_from("ab\u00e9\U0001f600 \t\n\x1c\x85\xa0\u2003\u3000\u200b"), max_size=8)


@given(st.lists(SPACED, max_size=4))
def test_tokens_are_those_of_str_split(texts: list[str]):
    held = tokens(pa.array(texts, pa.string()))
    assert held.lists(held.texts).to_pylist() == [t.split() for t in texts]
    whole = "".join(texts)
    assert [whole[a:b] for a, b in zip(held.start, held.end, strict=True)] == [w for t in texts for w in t.split()]
