"""Whole sessions of lowest stable hash, up to a number of rows: the rows that the models are trained on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import hash64, strings
from features.learnable import READS as LEARNABLE
from features.learnable import learnable
from features.said import READS, said
from features.text import distinct
from pipeline import storage, tally
from pipeline.transforms.counts import counts
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import SAID, SIGNALS, TURN

# Resolution of the cut: the hash's highest bits. With a million sessions a bin holds about fifteen.
BIN_BITS: Final = 16


def session_bin(sessions: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Bin of each row's session, shape (n,). Takes their ids; what is held once is hashed once."""
    held = distinct(sessions)
    hashes = hash64(strings(held.dictionary), "afterword/sample") >> np.uint64(64 - BIN_BITS)
    return np.asarray(hashes.astype(np.int64)[held.indices.to_numpy()])


def _session_bins(path: str) -> npt.NDArray[np.int64]:
    """Bin of each row's session of a file of Signals rows, shape (n,)."""
    with storage.open_parquet(path, ("session_id",), whole=True) as file:
        return session_bin(file.read(columns=["session_id"])["session_id"])


def histogram(bins: npt.NDArray[np.int64]) -> pa.Table:
    """Rows a bin, as (bin, rows); only bins that have any."""
    found, rows = np.unique(bins, return_counts=True)
    return pa.table({"bin": pa.array(found, pa.int64()), "rows": pa.array(rows, pa.int64())})


def add_histograms(tables: Iterable[pa.Table]) -> pa.Table:
    """Sum of histograms, bins in order."""
    held = list(tables)
    if not held:
        return histogram(np.zeros(0, np.int64))
    summed = pa.concat_tables(held).group_by("bin", use_threads=False).aggregate([("rows", "sum")])
    return summed.rename_columns(["bin", "rows"]).sort_by("bin")


def cut(summed: pa.Table, train_rows: int) -> int:
    """First bin that is left out: the bins below it hold at most `train_rows` rows, but always at least one bin."""
    within = int((np.cumsum(summed["rows"].to_numpy()) <= train_rows).sum())
    bins = summed["bin"].to_numpy()
    return int(bins[max(within, 1) - 1]) + 1 if len(bins) else 0


def below(summed: pa.Table, limit: int) -> pa.Table:
    """COUNT rows of the turns that may be learned from, and of those in bins below a limit; they only monitor."""
    rows, lower = summed["rows"].to_numpy(), summed["bin"].to_numpy() < limit
    return counts("train", {}, {"in": int(rows.sum()), "sampled": int(rows[lower].sum())})


def learnable_rows(folder: str, bucket: int) -> npt.NDArray[np.bool_]:
    """Turns of a bucket that may be learned from."""
    return learnable(storage.read_table(bucket_path(folder, bucket), TURN.schema, list(LEARNABLE)))


@beam.typehints.with_output_types(pa.Table)
class CountSessions(SideBySide):
    """Bucket numbers to histograms over session bins."""

    def __init__(self, turns: str, signals: str, threads: int = 1) -> None:
        super().__init__(threads)
        self._turns, self._signals = turns, signals

    def work(self, bucket: int) -> list[pa.Table]:
        """One bucket."""
        path = bucket_path(self._signals, bucket)
        return [histogram(_session_bins(path)[learnable_rows(self._turns, bucket)])]


@beam.typehints.with_output_types(type(None))
class KeepSessions(SideBySide):
    """Bucket numbers to files of the Signals rows whose session bin lies below the cut, and of their Said rows."""

    def __init__(
        self, turns: str, signals: str, folder: str, cut: int, threads: int = 1, said_folder: str | None = None
    ) -> None:
        super().__init__(threads)
        self._turns, self._signals, self._folder, self._cut = turns, signals, folder, cut
        self._said_folder = said_folder

    def work(self, bucket: int) -> list[None]:
        """One bucket."""
        table = storage.read_table(bucket_path(self._signals, bucket), SIGNALS.schema)
        keep = (session_bin(table["session_id"]) < self._cut) & learnable_rows(self._turns, bucket)
        if keep.any():
            kept = table.filter(pa.array(keep))
            write_bucket(self._folder, bucket, kept, SIGNALS)
            if self._said_folder is not None:
                turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, list(READS))
                words = said(turns.filter(pa.array(keep)), kept)
                write_bucket(self._said_folder, bucket, SAID.conform(words), SAID)
            tally.add(int(keep.sum()))
        return []
