from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from build import turns

from features.signals import signals
from features.timeline import sort
from pipeline import storage
from pipeline.transforms.sample import CountSessions, KeepSessions, add_histograms, cut, session_bin
from pipeline.transforms.shuffle import KeyHash, split
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import SAID, SIGNALS, TURN


def made(users: int = 60) -> pa.Table:
    """Turns of users with one to five turns each; the third turn of some may not be learned from."""
    rows: list[dict[str, Any]] = []
    for user in range(users):
        rows += [
            {
                "subject_id": f"u{user}",
                "turn_id": f"u{user}-{k}",
                "at": 10.0 * k,
                "sequence": k,
                "consent": False if user % 7 == 0 and k == 2 else None,
            }
            for k in range(1 + user % 5)
        ]
    return turns(*rows)


def sample(table: pa.Table, folder: Path, buckets: int, train_rows: int) -> list[str]:
    """Ids of the turns that are kept, by the two passes over so many buckets."""
    where = [str(folder / f"{buckets}-{train_rows}" / name) for name in ("turns", "signals", "rows")]
    numbers = []
    for number, piece in split(table, KeyHash("subject_id", buckets)(table)):
        ordered = sort(piece)
        write_bucket(where[0], number, ordered, TURN)
        write_bucket(where[1], number, signals(ordered), SIGNALS)
        numbers.append(number)
    counter = CountSessions(*where[:2])
    limit = cut(add_histograms(t for n in numbers for t in counter.work(n)), train_rows)
    keeper = KeepSessions(*where, limit)
    for number in numbers:
        keeper.work(number)
    paths = [bucket_path(where[2], n) for n in numbers if Path(bucket_path(where[2], n)).exists()]
    return sorted(t for p in paths for t in storage.read_table(p, SIGNALS.schema)["turn_id"].to_pylist())


@pytest.mark.parametrize("train_rows", [1, 20, 100, 10_000])
def test_the_sample_does_not_depend_on_the_number_of_buckets(tmp_path: Path, train_rows: int):
    table = made()
    one = sample(table, tmp_path, 1, train_rows)
    assert one and one == sample(table, tmp_path, 7, train_rows) == sample(table, tmp_path, 40, train_rows)


def test_whole_sessions_and_no_more_rows_than_asked(tmp_path: Path):
    table = made()
    kept = set(sample(table, tmp_path, 3, 50))
    assert 30 < len(kept) <= 50
    by_user: dict[str, set[str]] = {}
    for turn, user, consent in zip(*(table[c].to_pylist() for c in ("turn_id", "subject_id", "consent")), strict=True):
        if consent is not False:
            by_user.setdefault(user, set()).add(turn)
    assert all(own <= kept or not own & kept for own in by_user.values())


def test_a_larger_sample_holds_the_smaller_one(tmp_path: Path):
    table = made()
    assert set(sample(table, tmp_path, 2, 30)) < set(sample(table, tmp_path, 2, 90))


def test_turns_without_consent_are_never_kept(tmp_path: Path):
    table = made()
    kept = sample(table, tmp_path, 2, 10_000)
    refused = {t for t, c in zip(table["turn_id"].to_pylist(), table["consent"].to_pylist(), strict=True) if c is False}
    assert refused and not refused & set(kept) and len(kept) == table.num_rows - len(refused)


def test_the_words_of_kept_turns_are_written_beside_them_and_a_refused_turn_is_no_reaction(tmp_path: Path):
    ordered = sort(made())
    where = [str(tmp_path / name) for name in ("turns", "signals", "rows", "said")]
    write_bucket(where[0], 0, ordered, TURN)
    write_bucket(where[1], 0, signals(ordered), SIGNALS)
    KeepSessions(*where[:3], 1 << 16, said_folder=where[3]).work(0)
    rows = storage.read_table(bucket_path(where[2], 0), SIGNALS.schema)
    words = storage.read_table(bucket_path(where[3], 0), SAID.schema)
    assert words["turn_id"].to_pylist() == rows["turn_id"].to_pylist()
    reaction = dict(zip(words["turn_id"].to_pylist(), words["reaction"].to_pylist(), strict=True))
    # u14 has five turns, the third of them refused.
    assert [reaction[f"u14-{k}"] is None for k in (0, 1, 3, 4)] == [False, True, False, True]
    assert "u14-2" not in reaction


def histogram(bins: list[int], rows: list[int]) -> pa.Table:
    return pa.table({"bin": pa.array(bins, pa.int64()), "rows": pa.array(rows, pa.int64())})


@pytest.mark.parametrize(("train_rows", "first_out"), [(10, 9), (9, 5), (6, 5), (5, 4), (1, 4), (0, 4)])
def test_the_cut_lies_after_the_last_bin_that_fits_but_takes_one(train_rows: int, first_out: int):
    assert cut(histogram([3, 4, 8], [5, 1, 4]), train_rows) == first_out


def test_histograms_add_up():
    summed = add_histograms([histogram([8, 3], [1, 2]), histogram([3], [5]), histogram([], [])])
    assert summed.to_pylist() == [{"bin": 3, "rows": 7}, {"bin": 8, "rows": 1}]
    assert cut(add_histograms([]), 5) == 0


def test_a_sessions_bin_is_pinned():
    bins = session_bin(pa.array(["u001-0", "", "x"]))
    assert bins.tolist() == [27024, 31380, 49866]
    assert (bins < 1 << 16).all() and bins.dtype == np.int64
