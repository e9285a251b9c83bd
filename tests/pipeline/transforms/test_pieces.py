from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.transforms.sessions import pieces


@given(st.lists(st.integers(1, 7), max_size=12), st.integers(1, 10))
def test_pieces_cover_all_rows_once_and_cut_between_sessions_only(runs: list[int], rows: int):
    sessions = np.repeat(np.arange(len(runs)), runs)
    got = list(pieces(sessions, rows))
    assert [row for start, length in got for row in range(start, start + length)] == list(range(len(sessions)))
    for start, length in got:
        assert start == 0 or sessions[start] != sessions[start - 1]
        # No longer than asked for, but for the rest of the session at the cut.
        assert len(set(sessions[start : start + length][rows:].tolist())) <= 1


def test_one_session_of_more_rows_is_one_piece():
    assert list(pieces(np.array(["a"] * 10, object), 3)) == [(0, 10)]
