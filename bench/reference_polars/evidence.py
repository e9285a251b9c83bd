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

    All values are looked for at once in each distinct answer (Aho-Corasick). A confirmation whose turn's best has the
    values speaks of that best's frame only.
    """
    valued = each.lazy().filter(col("value_id") != 0)
    bests = each.lazy().filter("lead").select("session", "position", best_value="value_id", best_frame="frame_id")
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
        .join(bests, on=["session", "position"], how="left")
        .select(
            "value_id_group",
            "position",
            "best_frame",
            ends=col("confirmation").fill_null(0),
            owned=(col("best_value") == col("value_id")).fill_null(False),
        )
        .collect()
    )
    rows = (each["value_id"] != 0).to_numpy()
    here = codes(each["value_id_group"], each["position"])[rows]
    code, ends = codes(said["value_id_group"], said["position"]), said["ends"].to_numpy()
    owned = said["owned"].to_numpy()
    framed = (
        pl.concat(
            [
                each.filter(rows).select("value_id_group", frame="frame_id"),
                said.select("value_id_group", frame="best_frame"),
            ]
        )
        .select(pl.struct("value_id_group", "frame").rank("dense").cast(pl.Int64))
        .to_series()
    )
    here_framed = codes(framed[: rows.sum()], each["position"].filter(rows))
    code_framed = codes(framed[rows.sum() :], said["position"])

    def count(events: np.ndarray, first: int, last: int, asked: np.ndarray = here) -> np.ndarray:
        out = np.zeros(len(rows), np.int32)
        out[rows] = Events(events).window(asked, first, last)[0]
        return out

    def settled(mask: np.ndarray, first: int, last: int) -> np.ndarray:
        return count(code[mask & ~owned], first, last) + count(code_framed[mask & owned], first, last, here_framed)

    own = pl.Series(count(code, 0, 0) > 0)
    yield pl.select(pl.when(pl.Series(rows)).then(own)).to_series().alias("echo")
    yield pl.Series("later_echo", count(code, 1, HORIZON))
    for name, ended in (("affirmed", ends > 0), ("denied", ends < 0)):
        yield pl.Series(f"{name}_after", settled(ended, 0, HORIZON))
        yield pl.Series(f"{name}_before", settled(ended, -HORIZON, -1))


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
