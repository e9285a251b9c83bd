"""The signals by hand in polars: what the product's own stage is timed against, and has to equal.

    python -m bench.reference_polars --turns out/stages/ingest/turns --out signals.parquet

A programme for this one job: lazy frames over all cores, rapidfuzz with all workers, no Beam, no buckets, the whole log
in memory. It shares no code with the product; names come from `schemas`, the words from the lexicon's file. What each
column means is said in `schemas/signals.py`. Hashes are polars' own: they tell the same things apart, by other numbers.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from bench.reference_polars.candidates import candidates, carried, of_rephrases, readings
from bench.reference_polars.common import col
from bench.reference_polars.evidence import echoes, ends, in_session, next_values
from bench.reference_polars.sessions import place, with_sessions
from bench.reference_polars.texts import system_texts, user_texts
from bench.reference_polars.turns import edits, endings, frictions, reactions, recognition, repetition, rephrases
from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

# Columns that are not computed here, with the reason.
LEFT_OUT: Final[dict[str, str]] = {}


def signals(turns: pl.LazyFrame, words: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """Signals of all turns, in the total order."""
    line = with_sessions(turns).with_columns(place()).collect()
    line = pl.concat([line, user_texts(line, words), system_texts(line, words)], how="horizontal")
    line = line.drop("prompt", "utterance")
    line = line.with_columns(rephrases(line)).with_columns(repetition(line)).with_columns(edits(line))
    line = line.lazy().with_columns(reactions()).with_columns(recognition()).with_columns(endings()).collect()
    each = candidates(line)
    line = line.with_columns(readings(each, line)).with_columns(frictions(line))
    line = line.with_columns(carried(line))
    each = pl.concat([each, of_rephrases(each, line)], how="diagonal").sort("row", maintain_order=True)
    each = each.with_columns(in_session(each)).with_columns(echoes(each, line)).with_columns(next_values(each, line))
    each = each.with_columns(ends(each, line))
    return line.with_columns(lists(each, line.height)).select(
        col(c.name).cast(pl.Float32) if str(c.type) == "float" else col(c.name)
        for c in SIGNALS.columns
        if c.name not in LEFT_OUT
    )


def lists(each: pl.DataFrame, turns: int) -> pl.Series:
    """Candidates as one list a turn."""
    fields = each.select(
        col(c.name).cast(pl.Float32) if str(c.type) == "float" else col(c.name) for c in CANDIDATE_COLUMNS
    )
    count = np.bincount(each["row"].to_numpy(), minlength=turns)
    offsets = pa.array(np.concatenate([[0], np.cumsum(count)]), pa.int64())
    structs = fields.to_struct().rechunk().to_arrow()
    return pl.Series("candidates", pa.LargeListArray.from_arrays(offsets, structs))
