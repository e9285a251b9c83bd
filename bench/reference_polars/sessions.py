"""The total order, sessions, and the place of a turn in its session."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from bench.reference_polars.common import ORDER, READ, SESSION_CAP, SESSION_GAP_S, col, lead, near


def with_sessions(turns: pl.LazyFrame) -> pl.LazyFrame:
    """Sorted turns with `row`, `session`, `position`, `length` and `seconds` from the session's start."""
    micros = col("event_time").dt.timestamp("us")
    other = col("subject_id").ne_missing(col("subject_id").shift(1)) | (micros.diff() > SESSION_GAP_S * 1e6)
    row = col("row").cast(pl.Int64)

    def start(new: pl.Expr) -> pl.Expr:
        return pl.when(new).then(row).forward_fill()

    return (
        turns.select(READ)
        .sort(ORDER)
        .with_row_index("row")
        .with_columns(row, other.fill_null(True).alias("new"))
        .with_columns(new=col("new") | ((row - start(col("new"))) % SESSION_CAP == 0))
        .with_columns(start=start(col("new")), session=col("new").cum_sum().cast(pl.Int64))
        .with_columns(position=row - col("start"))
        .with_columns(
            length=pl.len().over("session").cast(pl.Int64),
            seconds=(micros - micros.gather(col("start"))) / 1e6,
        )
        .drop("new")
    )


def place() -> Iterable[pl.Expr]:
    """Place and time of the turn in its session."""
    talk = col("conversation_id").fill_null("")
    changed = near(talk, -1) != talk
    skipped = near(col("sequence"), 1) - col("sequence") - 1
    gap = near("seconds", 1) - col("seconds")
    counted = (near(talk, 1) == talk) & near(col("parent_id").is_null(), 1)
    kept = pl.when(counted).then(skipped.clip(lower_bound=0)).cast(pl.Int32)
    return (
        col("turn_id").gather(col("start")).alias("session_id"),
        col("position").cast(pl.Int32).alias("turns_before"),
        (col("length") - 1 - col("position")).cast(pl.Int32).alias("turns_after"),
        changed.alias("new_conversation"),
        gap.cast(pl.Float32).alias("gap_after"),
        near(gap, -1).cast(pl.Float32).alias("gap_before"),
        kept.alias("skipped_after"),
        near(kept, -1).alias("skipped_before"),
        near("barge_in", 1).alias("barge_in_next"),
        (col("outcome") != "answered").alias("outcome_failed"),
        lead("domain").alias("domain"),
        lead("intent").alias("intent"),
    )
