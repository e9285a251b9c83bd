from __future__ import annotations

import pyarrow as pa
from golden_views import example

from pipeline.writers.licences import count_licences, licences, under
from schemas import EXAMPLE


def told(*named: list[str]) -> dict[str, int]:
    rows = [example(str(k)) for k in range(len(named))]
    rows = [row | {"provenance": row["provenance"] | {"licences": held}} for row, held in zip(rows, named, strict=True)]
    return count_licences(pa.Table.from_pylist(rows, schema=EXAMPLE.schema))


def test_an_example_counts_under_each_of_its_licences_and_apart_where_none_is_stated():
    counts = told(["MIT"], ["CC0-1.0", "MIT"], [], ["MIT"])
    assert counts == {"of_licence.MIT": 3, "of_licence.CC0-1.0": 1, "without_licence": 1}
    assert licences(counts) == {"CC0-1.0": 1, "MIT": 3}
    assert count_licences(EXAMPLE.empty()) == {}


def test_a_release_is_under_licences_only_where_every_example_states_one():
    assert under(told(["MIT"], ["CC0-1.0"])) == ["CC0-1.0", "MIT"]
    assert under(told(["MIT"], [])) == [] == under({})
