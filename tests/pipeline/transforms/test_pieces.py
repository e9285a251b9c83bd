from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipeline.transforms.signals import pieces


@given(st.lists(st.integers(1, 7), max_size=12), st.integers(1, 10))
def test_pieces_cover_all_rows_once_and_cut_between_owners_only(runs: list[int], rows: int):
    owners = [f"u{k}" for k, n in enumerate(runs) for _ in range(n)]
    got = list(pieces(pa.chunked_array([pa.array(owners, pa.string())]), rows))
    assert [row for start, length in got for row in range(start, start + length)] == list(range(len(owners)))
    for start, length in got:
        assert start == 0 or owners[start] != owners[start - 1]
        # No longer than asked for, but for the rest of the owner at the cut.
        assert len(set(owners[start : start + length][rows:])) <= 1


def test_one_owner_of_more_rows_is_one_piece():
    assert list(pieces(pa.chunked_array([["a"] * 9, ["a"]]), 3)) == [(0, 10)]
