"""What other turns of the session say of a candidate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from bench.reference_polars.common import HORIZON, LEFT, at_rows, col, likeness, near
from bench.reference_polars.windows import Events, codes


def in_session(each: pl.DataFrame) -> Iterable[pl.Series]:
    """How often, how strongly and how soon other turns of the session say the same."""
    here, there = (codes(each[f"{key}_group"], each["position"]) for key in ("candidate_id", "frame_id"))
    lead, first = each["lead"].to_numpy(), (each["first"] & (each["offset"] == 0)).to_numpy()
    tops, frames = Events(here[lead]), Events(there[lead])
    masses = Events(here[first], each["mass"].to_numpy()[first])
    later, _, offset = tops.window(here, 1, HORIZON)
    yield pl.Series("earlier_top", tops.window(here, -HORIZON, -1)[0])
    yield pl.Series("earlier_mass", masses.window(here, -HORIZON, -1)[1], pl.Float64)
    yield pl.Series("later_top", later)
    yield pl.Series("later_mass", masses.window(here, 1, HORIZON)[1], pl.Float64)
    yield pl.Series("later_frame", frames.window(there, 1, HORIZON)[0] - later)
    yield pl.Series("support_offset", offset)


def echoes(each: pl.DataFrame, line: pl.DataFrame) -> Iterable[pl.Series]:
    """Answers of the session that say a candidate's values, and how the confirmations among them ended.

    All values are looked for at once in each distinct answer (Aho-Corasick).
    """
    valued = each.lazy().filter(col("value_id") != 0)
    held = valued.select("session", "value_id", "value_id_group").unique()
    wanted = valued.select("value_id", wanted=" " + col("values") + " ").unique().collect()
    answers = line.lazy().select("session", "position", "confirmation", "answer").filter(col("answer").is_not_null())
    found = (
        answers.select("answer")
        .unique()
        .with_columns(wanted=(" " + col("answer") + " ").str.extract_many(wanted["wanted"].to_list(), overlapping=True))
        .explode("wanted")
        .drop_nulls()
        .unique()
        .join(wanted.lazy(), on="wanted")
    )
    said = (
        answers.join(found.select("answer", "value_id"), on="answer")
        .join(held, on=["session", "value_id"])
        .select("value_id_group", "position", ends=col("confirmation").fill_null(0))
        .collect()
    )
    rows = (each["value_id"] != 0).to_numpy()
    here = codes(each["value_id_group"], each["position"])[rows]
    code, ends = codes(said["value_id_group"], said["position"]), said["ends"].to_numpy()

    def count(events: np.ndarray, first: int, last: int) -> np.ndarray:
        out = np.zeros(len(rows), np.int32)
        out[rows] = Events(events).window(here, first, last)[0]
        return out

    own = pl.Series(count(code, 0, 0) > 0)
    yield pl.select(pl.when(pl.Series(rows)).then(own)).to_series().alias("echo")
    yield pl.Series("later_echo", count(code, 1, HORIZON))
    for name, ended in (("affirmed", ends > 0), ("denied", ends < 0)):
        yield pl.Series(f"{name}_after", count(code[ended], 0, HORIZON))
        yield pl.Series(f"{name}_before", count(code[ended], -HORIZON, -1))


def next_values(each: pl.DataFrame, line: pl.DataFrame) -> pl.Series:
    """Likeness of a candidate's values to those of the next turn's best."""
    leads = each.lazy().filter("lead").select("row", following="values")
    turns = line.lazy().select("row", "position", "length").join(leads, on="row", **LEFT)
    following = turns.select(near("following", 1)).collect().to_series()[each["row"]]
    both = (each["values"] != "") & (following != "")
    mask = both.fill_null(False)
    like = likeness(each["values"].filter(mask), following.filter(mask))
    return at_rows(mask, like).alias("next_value_similarity")


def ends(each: pl.DataFrame, line: pl.DataFrame) -> pl.Series:
    """Whether a candidate is the leading hypothesis of the turn that ends the friction after its own."""
    leads = each.lazy().filter("lead").select(end="row", settled="candidate_id")
    found = line.lazy().select("row", end="friction_end").join(leads, on="end", **LEFT)
    joined = each.lazy().select("row", "candidate_id").join(found, on="row", **LEFT)
    same = (col("candidate_id") == col("settled")).fill_null(False)
    return joined.select(pl.when(same.any().over("row")).then(same).alias("ends_friction")).collect().to_series()
