"""Hypotheses of a turn and of the requests that rephrase it, as candidates."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import polars.selectors as cs
from rapidfuzz import fuzz

from bench.reference_polars.common import (
    LEFT,
    NEAR,
    REPHRASE_LIKENESS,
    REPHRASE_TURNS,
    at_rows,
    col,
    lead,
    near,
    number,
    ratio,
)
from bench.reference_polars.texts import normal
from bench.reference_polars.windows import groups


def candidates(line: pl.DataFrame) -> pl.DataFrame:
    """One row a hypothesis: `row` of its turn, its keys and their groups, and what the turn's own n-best says of it."""
    each = (
        line.lazy()
        .select("row", "session", "position", "interpretations")
        .filter(col("interpretations").list.len() > 0)
        .explode("interpretations")
        .unnest("interpretations")
        .with_row_index("entry")
        .collect()
    )
    head = [col("domain").fill_null(""), col("intent").fill_null("")]
    each = (
        each.lazy()
        .join(slots(each), on="entry", **LEFT)
        .with_columns(*(col(c).fill_null("") for c in ("names", "pairs", "values")))
    )
    each = each.select(
        "entry",
        "row",
        "session",
        "position",
        "values",
        col("score").fill_null(0.0),
        number(pl.concat_str(*head, "pairs", separator="\x1f")).alias("candidate_id"),
        number(pl.concat_str(*head, "names", separator="\x1f")).alias("frame_id"),
        pl.when(col("values") != "").then(number(col("values"))).otherwise(0).alias("value_id"),
    ).collect()
    keys = ["candidate_id", "frame_id", "value_id"]
    return pooled(each).with_columns(
        *(groups(each, key).alias(f"{key}_group") for key in keys),
        (col("row") != col("row").shift(1)).fill_null(True).alias("lead"),
        pl.lit(0, pl.Int32).alias("offset"),
    )


def of_rephrases(each: pl.DataFrame, line: pl.DataFrame) -> pl.DataFrame:
    """Leading hypotheses of later requests that repeat or correct the turn, where its own list lacks them."""
    keys = [c for c in each.columns if c.endswith(("_id", "_group"))]
    turns = line.lazy().select("row", "session", "position", "is_request", "corrects", cs.starts_with("near"))
    leads = each.lazy().filter("lead").select("row", "values", *keys)
    leads = (
        leads.join(turns.select("row", "is_request", "corrects"), on="row")
        .filter("is_request")
        .rename({"row": "later"})
    )
    found = [
        turns.select(
            "row", "session", "position", later=col("row") + k, rephrase=f"near{k}", offset=pl.lit(k, pl.Int32)
        )
        .drop_nulls("rephrase")
        .join(leads, on="later")
        .filter((col("rephrase") >= REPHRASE_LIKENESS) | col("corrects"))
        for k in range(1, REPHRASE_TURNS + 1)
    ]
    return (
        pl.concat(found)
        .join(each.lazy().select("row", "candidate_id"), on=["row", "candidate_id"], how="anti")
        .sort("row", "offset")
        .unique(["row", "candidate_id"], keep="first", maintain_order=True)
        .select("row", "session", "position", "values", *keys, "offset", "rephrase", first=True, lead=False)
        .collect()
    )


def slots(each: pl.DataFrame) -> pl.LazyFrame:
    """Each hypothesis' slots as sorted, joined texts."""
    count = col("slots").list.len()
    parts = each.lazy().select("entry", "slots").filter(count > 0).with_columns(single=count == 1)
    parts = parts.explode("slots").unnest("slots")
    parts = (
        parts.with_columns(col("name").fill_null(""), col("value").fill_null("").str.to_lowercase()).collect().lazy()
    )
    words = parts.select("value").unique().with_columns(words=normal(col("value")))
    parts = parts.join(words, on="value", **LEFT).with_columns(pair=pl.concat_str("name", "value", separator="\x1e"))
    several = (
        parts.filter(~col("single"))
        .sort("entry", "name", "value")
        .group_by("entry", maintain_order=True)
        .agg(
            names=col("name").str.join("\x1d"),
            pairs=col("pair").str.join("\x1d"),
            values=col("words").str.join(" ").str.strip_chars(),
        )
    )
    one = parts.filter("single").select("entry", names="name", pairs="pair", values="words")
    return pl.concat([one, several])


def pooled(each: pl.DataFrame) -> pl.DataFrame:
    """Hypotheses of a turn that say the same are one candidate: the figures of each, at all of them.

    Few say the same as one before, so only those are joined.
    """
    same = ["row", "candidate_id"]
    each = each.with_columns(first=pl.struct(same).is_first_distinct())
    firsts = each.lazy().filter("first")
    again = each.lazy().filter(~col("first")).select("entry", "score", *same)
    again = again.join(firsts.select(*same, leader="entry"), on=same).sort("entry").collect()
    more = again.lazy().group_by("leader").agg(more=col("score").sum(), times=pl.len())
    distinct = (
        firsts.join(more, left_on="entry", right_on="leader", **LEFT)
        .with_columns(
            mass=col("score") + col("more").fill_null(0.0),
            repeats=(col("times").fill_null(0) + 1).cast(pl.Int32),
        )
        .with_columns(total=col("mass").sum().over("row"))
        .with_columns(share=pl.when(col("total") > 0).then(col("mass") / col("total")))
        .with_row_index("at")
        .collect()
    )
    ranked = distinct.lazy().select("at", "row", "mass").sort("row", "mass", "at", descending=[False, True, False])
    ranks = ranked.select("at", rank=(pl.int_range(pl.len()).over("row")).cast(pl.Int32)).sort("at").collect()
    figures = kin(distinct.with_columns(ranks["rank"])).select("mass", "rank", "share", "repeats", "kin_mass", "kin")
    leaders = each.lazy().select("entry").join(again.lazy().select("entry", "leader"), on="entry", **LEFT)
    leader = leaders.select(pl.coalesce("leader", "entry")).collect().to_series()
    place = (each["first"].cum_sum() - 1)[leader]
    return pl.concat([each.drop("score"), figures[place]], how="horizontal")


def kin(distinct: pl.DataFrame) -> pl.DataFrame:
    """Support of near candidates of the same frame, by the likeness of their values."""
    likes = []
    for k in range(1, NEAR + 1):
        pair = distinct.select(
            alike=((col("row") == col("row").shift(-k)) & (col("frame_id") == col("frame_id").shift(-k))).fill_null(
                False
            ),
            other=col("values").shift(-k),
        )
        mask = pair["alike"]
        like = ratio(distinct["values"].filter(mask), pair["other"].filter(mask), fuzz.ratio)
        likes.append((at_rows(mask, like).cast(pl.Float64) / 100).alias(f"like{k}"))
    support, nearest = col("mass"), [pl.lit(0.0)]
    for k in range(1, NEAR + 1):
        like = col(f"like{k}")
        support = support + (like * col("mass").shift(-k)).fill_null(0.0) + (like * col("mass")).shift(k).fill_null(0.0)
        nearest += [like, like.shift(k)]
    return distinct.with_columns(likes).with_columns(kin_mass=support, kin=pl.max_horizontal(nearest))


def readings(each: pl.DataFrame, line: pl.DataFrame) -> Iterable[pl.Series]:
    """What the n-best as a whole tells of the turn, and whether the next one's best agrees."""
    firsts = each.lazy().filter("first")
    share = pl.when(col("share") > 0).then(col("share"))
    turns = firsts.group_by("row").agg(
        candidates_distinct=pl.len().cast(pl.Int32),
        best=col("mass").filter(col("rank") == 0).first(),
        second=col("mass").filter(col("rank") == 1).first(),
        score_entropy=pl.when(share.count() > 0).then(-(share * share.log()).sum()),
    )
    leads = each.lazy().filter("lead").select("row", "candidate_id", "frame_id")
    found = (
        line.lazy()
        .select("row", "position", "length", top_score=lead("score"))
        .join(turns, on="row", **LEFT)
        .join(leads, on="row", **LEFT)
    )
    return (
        found.select(
            col("top_score").cast(pl.Float32),
            near("top_score", 1).cast(pl.Float32).alias("top_score_next"),
            (col("best") - col("second")).cast(pl.Float32).alias("score_margin"),
            col("score_entropy").cast(pl.Float32),
            col("candidates_distinct").fill_null(0),
            (near("candidate_id", 1) == col("candidate_id")).alias("same_interpretation_next"),
            (near("frame_id", 1) == col("frame_id")).alias("same_frame_next"),
        )
        .collect()
        .get_columns()
    )


def carried(line: pl.DataFrame) -> Iterable[pl.Series]:
    """Slots of the leading hypothesis that the next turn's has with the same value, or with others alone."""
    parts = (
        line.lazy()
        .select("row", lead("slots"))
        .explode("slots")
        .drop_nulls("slots")
        .unnest("slots")
        .select("row", col("name").fill_null(""), value=col("value").fill_null("").str.to_lowercase())
        .with_row_index("slot")
        .collect()
        .lazy()
    )
    following = parts.select("name", "value", row=col("row") - 1)
    kept = parts.join(following, on=["row", "name", "value"], how="semi").select("slot", "row")
    named = parts.join(following, on=["row", "name"], how="semi")
    changed = named.join(kept, on="slot", how="anti").select("row")
    counts = line.lazy().select(
        "row", "position", "length", "same_frame_next", has=col("interpretations").list.len() > 0
    )
    for name, rows in (("kept", kept), ("changed", changed)):
        counts = counts.join(rows.group_by("row").agg(pl.len().cast(pl.Int32).alias(name)), on="row", **LEFT)
    valid = (col("has") & near("has", 1)).fill_null(False)
    kept, changed = col("kept").fill_null(0), col("changed").fill_null(0)
    return (
        counts.select(
            slots_kept_next=pl.when(valid).then(kept),
            slots_changed_next=pl.when(valid).then(changed),
            partial_rephrase=pl.when(valid).then(
                col("same_frame_next").fill_null(False) & (changed == 1) & (kept >= 1)
            ),
        )
        .collect()
        .get_columns()
    )
