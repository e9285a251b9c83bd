"""What a turn's neighbours and the recogniser tell of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from rapidfuzz import fuzz

from bench.reference_polars.common import (
    ASKED_AGAIN,
    DIALOG_ACTS,
    EDIT_LIKENESS,
    EDIT_TOKENS,
    HORIZON,
    REMARKS,
    REPHRASE_GAP_S,
    REPHRASE_LIKENESS,
    REPHRASE_TURNS,
    TOOL,
    WORD_SECONDS,
    at_rows,
    col,
    likeness,
    near,
    ratio,
)
from bench.reference_polars.windows import Events, codes, groups


def rephrases(line: pl.DataFrame) -> Iterable[pl.Series]:
    """Likeness of the next utterances: the next, and the best in reach."""
    following = line.select(
        *(near("words", k).alias(f"words{k}") for k in range(1, REPHRASE_TURNS + 1)),
        *((near("seconds", k) - col("seconds")).alias(f"apart{k}") for k in range(1, REPHRASE_TURNS + 1)),
    )
    likes, reach = [], []
    for k in range(1, REPHRASE_TURNS + 1):
        other, close = following[f"words{k}"], following[f"apart{k}"] <= REPHRASE_GAP_S
        mask = other.is_not_null() if k == 1 else close.fill_null(False)
        likes.append(at_rows(mask, likeness(line["words"].filter(mask), other.filter(mask))).alias(f"like{k}"))
        reach.append(pl.when(col(f"apart{k}") <= REPHRASE_GAP_S).then(col(f"like{k}")).alias(f"near{k}"))
    best, offset, gap = pl.max_horizontal(r.meta.output_name() for r in reach), pl.lit(None), pl.lit(None)
    for k in range(REPHRASE_TURNS, 0, -1):
        wins = col(f"near{k}") == best
        offset = pl.when(wins).then(k).otherwise(offset)
        gap = pl.when(wins).then(col(f"apart{k}")).otherwise(gap)
    found = following.with_columns(likes).with_columns(reach)
    return found.select(
        col("like1").alias("rephrase_next"),
        best.alias("rephrase_best"),
        offset.cast(pl.Int32).alias("rephrase_offset"),
        gap.cast(pl.Float32).alias("rephrase_gap"),
        *(r.meta.output_name() for r in reach),
    ).get_columns()


def edits(line: pl.DataFrame) -> pl.Series:
    """Whether the next utterance is this one with a small edit."""
    pair = line.select(
        following=near("words", 1), tokens=pl.min_horizontal("utterance_tokens", near("utterance_tokens", 1))
    )
    mask = pair["following"].is_not_null() & (pair["tokens"] >= EDIT_TOKENS)
    like = ratio(line["words"].filter(mask), pair["following"].filter(mask), fuzz.ratio) / np.float32(100)
    edited = (col("like") >= EDIT_LIKENESS) & (col("like") < 1.0)
    frame = pair.with_columns(at_rows(mask, like).alias("like"))
    return frame.select(edited_next=pl.when(col("following").is_not_null()).then(edited.fill_null(False))).to_series()


def repetition(line: pl.DataFrame) -> Iterable[pl.Series]:
    """How many turns of the session, before and after, say the very same words."""
    here = codes(groups(line, "words"), line["position"])
    spoken = (line["words"] != "").to_numpy()
    said = Events(here[spoken])
    yield pl.Series("spoken", spoken)
    for name, first, last in (("repeats_before", -HORIZON, -1), ("repeats_after", 1, HORIZON)):
        yield pl.Series(name, np.where(spoken, said.window(here, first, last)[0], 0), pl.Int32)


def reactions() -> Iterable[pl.Expr]:
    """What the next turns tell."""
    for act in DIALOG_ACTS + REMARKS:
        yield near(act, 1).alias(f"{act}_next")
    said = near("words", 1)
    yield pl.when(said.is_not_null()).then(col("spoken") & (said == col("words"))).alias("repeats_next")
    again = (
        col("near1").is_not_null() & col("spoken") & (said == col("words")) & (near("response", 1) != col("response"))
    )
    known = said.is_not_null() & col("response").is_not_null() & near("response", 1).is_not_null()
    yield pl.when(known).then(again).alias("regenerated")
    yield near("sentiment", 1).alias("sentiment_next")
    yield near("pastes_error", 1).alias("pastes_error_next")
    retried = (near("domain", 1) == TOOL) & (near("intent", 1) == col("intent"))
    failed = col("tool_failed").fill_null(False) & said.is_not_null()
    yield pl.when(failed).then(retried.fill_null(False)).alias("tool_retried")
    yield near("rephrase_next", -1).alias("rephrase_before")
    yield near("system_repeat", 1).alias("system_repeat_next")
    yield near(col("negates") | col("goes_back") | col("restarts"), 2).alias("negates_second")
    ends = pl.when(near("negates", 1)).then(-1).when(near("affirms", 1)).then(1).otherwise(0)
    ends = pl.when(col("asks_confirmation") & near("negates", 1).is_not_null()).then(ends)
    yield ends.cast(pl.Int32).alias("confirmation")


def endings() -> Iterable[pl.Expr]:
    """How long the answer held, and whether the session ends though it failed or asked."""
    held = col("gap_after") - col("response_tokens").cast(pl.Float32) * WORD_SECONDS
    yield held.clip(lower_bound=0.0).alias("dwell")
    failed = (col(c) for c in ("falls_back", "cannot_help", "clarifies", "asks_confirmation", "outcome_failed"))
    open_ended = pl.any_horizontal(*failed, col("question_repeat") >= ASKED_AGAIN).fill_null(False)
    yield ((col("turns_after") == 0) & open_ended & ~col("hands_off")).alias("abandoned")


def frictions(line: pl.DataFrame) -> Iterable[pl.Series]:
    """Row of the turn that ends the friction after each turn; null where there is none, or no request ends it."""
    frame = line.select(
        "row",
        "position",
        "length",
        "near1",
        denies=col("negates") | col("corrects") | col("complains"),
        requests=col("is_request") & (col("interpretations").list.len() > 0).fill_null(False),
    ).with_columns(bare=col("denies") & ~col("requests"))
    friction = (col("near1") >= REPHRASE_LIKENESS) | near("denies", 1) | col("bare")
    frame = frame.with_columns(linked=(col("near1").is_not_null() & friction).fill_null(False))
    frame = frame.with_columns(end=pl.when(~col("linked")).then(col("row")).backward_fill())
    told = col("linked") & ~col("bare") & (col("end") - col("row") <= HORIZON) & col("requests").gather(col("end"))
    return frame.select(friction_end=pl.when(told).then(col("end"))).get_columns()


def recognition() -> Iterable[pl.Expr]:
    """The recogniser's confidence."""
    first, second = (col("asr").list.get(k, null_on_oob=True).struct.field("confidence") for k in (0, 1))
    yield first.cast(pl.Float32).alias("asr_confidence")
    yield near(first, 1).cast(pl.Float32).alias("asr_confidence_next")
    yield (first - second).cast(pl.Float32).alias("asr_margin")
    yield col("asr").list.len().cast(pl.Int32).alias("asr_hypotheses")
