"""The signals by hand in polars: what the product's own stage is timed against, and has to equal.

    python -m bench.reference_polars --turns out/stages/ingest/turns --out signals.parquet

A programme for this one job: lazy frames over all cores, rapidfuzz with all workers, no Beam, no buckets, the whole log
in memory. It shares no code with the product; names come from `schemas`, the words from the lexicon's file. What each
column means is said in `schemas/signals.py`. Hashes are polars' own: they tell the same things apart, by other numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa
from rapidfuzz import fuzz, process

from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

# Columns that are not computed here, with the reason.
LEFT_OUT: Final[dict[str, str]] = {}

SESSION_GAP_S: Final = 300.0
SESSION_CAP: Final = 10_000
REPHRASE_TURNS: Final = 3
REPHRASE_GAP_S: Final = 60.0
REPHRASE_LIKENESS: Final = 0.5
HORIZON: Final = 10
# Room for a session's positions, and for a window on either side of them.
STRIDE: Final = SESSION_CAP + 2 * HORIZON + 2
NEAR: Final = 4
WORD_SECONDS: Final = 0.35
ASKED_AGAIN: Final = 0.8
LEXICON: Final = Path(__file__).parent.parent / "features" / "lexicons" / "en.toml"

ORDER: Final = ["subject_id", "event_time", "sequence", "turn_id"]
READ: Final = [
    *ORDER,
    "conversation_id",
    "prompt",
    "utterance",
    "asr",
    "interpretations",
    "response",
    "outcome",
    "barge_in",
    "explicit_rating",
]
DIALOG_ACTS: Final = ("negates", "affirms", "goes_back", "restarts")
REMARKS: Final = ("corrects", "asks_back", "gives_up", "closes", "escalates", "thanks", "says_sorry")
SYSTEM_ACTS: Final = ("asks_confirmation", "apologises", "cannot_help")
OUTCOMES: Final = {"falls_back": "fallback", "clarifies": "clarify", "hands_off": "handoff"}
_ASKED: Final = r"([^.?!]+)\?[^?]*$"
_LAST: Final = r"([^.?!]+)[.?!\s]*$"

LEFT: Final[dict[str, Any]] = {"how": "left", "maintain_order": "left"}
col = pl.col


def signals(turns: pl.LazyFrame, words: dict[str, Any]) -> pl.DataFrame:
    """Signals of all turns, in the total order."""
    line = with_sessions(turns).with_columns(place()).collect()
    line = pl.concat([line, user_texts(line, words), system_texts(line, words)], how="horizontal")
    line = line.drop("prompt", "response", "utterance")
    line = line.with_columns(rephrases(line)).with_columns(repetition(line))
    line = line.lazy().with_columns(reactions()).with_columns(recognition()).with_columns(endings()).collect()
    each = candidates(line)
    line = line.with_columns(readings(each, line))
    each = pl.concat([each, of_rephrases(each, line)], how="diagonal").sort("row", maintain_order=True)
    each = each.with_columns(in_session(each)).with_columns(echoes(each, line)).with_columns(next_values(each, line))
    return line.with_columns(lists(each, line.height)).select(
        col(c.name).cast(pl.Float32) if str(c.type) == "float" else col(c.name)
        for c in SIGNALS.columns
        if c.name not in LEFT_OUT
    )


# Sessions and neighbours


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


def near(values: pl.Expr | str, offset: int) -> pl.Expr:
    """The value so many turns on, null across the session's bounds."""
    values = col(values) if isinstance(values, str) else values
    at = col("position") + offset
    return pl.when((at >= 0) & (at < col("length"))).then(values.shift(-offset))


def place() -> Iterable[pl.Expr]:
    """Place and time of the turn in its session."""
    talk = col("conversation_id").fill_null("")
    changed = near(talk, -1) != talk
    skipped = near(col("sequence"), 1) - col("sequence") - 1
    gap = near("seconds", 1) - col("seconds")
    kept = pl.when(near(talk, 1) == talk).then(skipped.clip(lower_bound=0)).cast(pl.Int32)
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


def lead(field: str) -> pl.Expr:
    """A field of the leading interpretation."""
    return col("interpretations").list.get(0, null_on_oob=True).struct.field(field)


# Words


def normal(text: pl.Expr) -> pl.Expr:
    """Lower case, punctuation to spaces."""
    words = text.str.normalize("NFC").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}\p{M}]+", " ")
    return words.str.strip_chars(" ")


def pattern(text: str) -> str:
    """A pattern of the lexicon, whose word bounds are those of ASCII."""
    return text.replace(r"\b", r"(?-u:\b)")


def tokens(words: pl.Expr) -> pl.Expr:
    """Words of a normalised text."""
    count = words.str.count_matches(" ", literal=True) + 1
    return pl.when(words == "").then(0).when(words.is_not_null()).then(count).cast(pl.Int32)


def ratio(left: pl.Series, right: pl.Series, scorer: Callable[..., float]) -> np.ndarray:
    """A ratio of rapidfuzz for each pair, from 0 to 100."""
    if not len(left):
        return np.zeros(0, np.float32)
    return process.cpdist(left.to_list(), right.to_list(), scorer=scorer, dtype=np.float32, workers=-1)


def likeness(left: pl.Series, right: pl.Series) -> np.ndarray:
    """Mean of the token-set and the plain ratio, from 0 to 1; two empty texts are not alike."""
    by_tokens, by_letters = ratio(left, right, fuzz.token_set_ratio), ratio(left, right, fuzz.ratio)
    return np.where((by_tokens == 0) & (by_letters == 100), np.float32(0), (by_tokens + by_letters) / np.float32(200))


def at_rows(mask: pl.Series, values: np.ndarray) -> pl.Series:
    """Values at the rows that the mask holds, null elsewhere."""
    held = mask.fill_null(False).to_numpy()
    out = np.full(len(held), np.nan, np.float32)
    out[held] = values
    return pl.Series(out).fill_nan(None)


# What the system said


def system_texts(line: pl.DataFrame, words: dict[str, Any]) -> pl.DataFrame:
    """Columns from the texts before and after each request; each distinct text, and each pair, is worked on once."""
    both = line.select(
        pl.coalesce("prompt", near("response", -1)).alias("before"), col("response").alias("after"), "outcome"
    )
    texts = pl.concat([both["before"], both["after"]]).drop_nulls().unique().alias("text")
    held = texts.to_frame().lazy().with_columns(words=normal(col("text")), question=question(words))
    acts = [col("words").str.contains(pattern(words["system"][act])).alias(act) for act in (*SYSTEM_ACTS, *OUTCOMES)]
    known = held.with_columns(*acts, tokens=tokens(col("words"))).with_row_index("id").collect()
    fields = known.lazy()
    numbered = (
        both.lazy()
        .join(fields.rename(lambda n: f"{n}_before"), left_on="before", right_on="text_before", **LEFT)
        .join(fields.rename(lambda n: f"{n}_after"), left_on="after", right_on="text_after", **LEFT)
        .collect()
    )
    pairs = scored_pairs(numbered, known)
    joined = numbered.lazy().join(pairs.lazy(), on=["id_before", "id_after"], **LEFT)
    return joined.select(
        col("words_after").alias("answer"),
        col("tokens_after").alias("response_tokens"),
        col("asks_confirmation_before").fill_null(False).alias("asked_confirmation"),
        *(col(f"{act}_after").fill_null(False).alias(act) for act in SYSTEM_ACTS),
        *(
            pl.coalesce(col("outcome") == outcome, f"{act}_after", False).alias(act)
            for act, outcome in OUTCOMES.items()
        ),
        col("apologises_before").fill_null(False).alias("prompt_apologises"),
        pl.when(col("question_before").is_not_null()).then(number(col("question_before"))).alias("question_id"),
        "system_repeat",
        "question_repeat",
    ).collect()


def scored_pairs(numbered: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Likeness of each distinct pair of texts."""
    pairs = numbered.select("id_before", "id_after").drop_nulls().unique()
    before, after = (known[pairs[f"id_{side}"]] for side in ("before", "after"))
    asked = (before["question"].is_not_null() & after["question"].is_not_null()).alias("asked")
    again = ratio(before["question"].filter(asked), after["question"].filter(asked), fuzz.token_set_ratio)
    return pairs.with_columns(
        pl.Series("system_repeat", likeness(before["words"], after["words"]), pl.Float32),
        at_rows(asked, again / np.float32(100)).alias("question_repeat"),
    )


def question(words: dict[str, Any]) -> pl.Expr:
    """The question of a text, without examples and filler words."""
    asked = pl.coalesce(col("text").str.extract(_ASKED), col("text").str.extract(_LAST))
    whole = normal(asked)
    brief = whole.str.replace_all(pattern(words["question"]["examples"]), "")
    brief = brief.str.replace_all(pattern(words["question"]["filler"]), "").str.strip_chars()
    kept = pl.when(brief == "").then(whole).otherwise(brief)
    return pl.when(kept != "").then(kept)


def number(values: pl.Expr) -> pl.Expr:
    """A 64-bit hash."""
    return values.hash().reinterpret(signed=True)


# What the user said


def user_texts(line: pl.DataFrame, words: dict[str, Any]) -> pl.DataFrame:
    """The words of each request and what they do; each distinct utterance, and each intent, is looked at once."""
    held = line.lazy().select("utterance").unique().with_columns(words=normal(col("utterance")))
    held = held.with_columns(
        tokens(col("words")).alias("utterance_tokens"),
        *(col("words").str.contains(pattern(words["user"][act])).alias(act) for act in DIALOG_ACTS + REMARKS),
    )
    names = words["user_intents"]
    intent = col("intent").str.to_lowercase()
    intents = line.lazy().select("intent").unique().drop_nulls()
    intents = intents.select(
        "intent", *(intent.is_in(names.get(act, [])).alias(f"{act}_named") for act in DIALOG_ACTS + REMARKS)
    )
    joined = (
        line.lazy().select("utterance", "intent").join(held, on="utterance", **LEFT).join(intents, on="intent", **LEFT)
    )
    named = {act: col(f"{act}_named").fill_null(False) for act in DIALOG_ACTS + REMARKS}
    of_dialog = pl.any_horizontal(named[act] for act in DIALOG_ACTS)
    return joined.select(
        "words",
        "utterance_tokens",
        *(pl.when(of_dialog).then(named[act]).otherwise(col(act)).alias(act) for act in DIALOG_ACTS),
        *((col(act) | named[act]).alias(act) for act in REMARKS),
        (~pl.any_horizontal(named.values())).alias("is_request"),
    ).collect()


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


def recognition() -> Iterable[pl.Expr]:
    """The recogniser's confidence."""
    first, second = (col("asr").list.get(k, null_on_oob=True).struct.field("confidence") for k in (0, 1))
    yield first.cast(pl.Float32).alias("asr_confidence")
    yield near(first, 1).cast(pl.Float32).alias("asr_confidence_next")
    yield (first - second).cast(pl.Float32).alias("asr_margin")
    yield col("asr").list.len().cast(pl.Int32).alias("asr_hypotheses")


# Candidates


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


# What other turns of the session say of a candidate


class Events:
    """Weighted events at positions of groups; counts them in windows around other positions."""

    def __init__(self, code: np.ndarray, weight: np.ndarray | None = None) -> None:
        order = pl.Series(code).arg_sort().to_numpy()
        self._code = code[order]
        self._summed = np.concatenate([[0.0], np.cumsum(np.ones(len(code)) if weight is None else weight[order])])

    def window(self, here: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many, their weight, and the distance to the first (0 = none), at here + first .. here + last."""
        low = np.searchsorted(self._code, here + first, "left")
        high = np.searchsorted(self._code, here + last, "right")
        offset = np.where(high > low, np.append(self._code, 0)[low] - here, 0)
        return (high - low).astype(np.int32), self._summed[high] - self._summed[low], offset.astype(np.int32)


def groups(frame: pl.DataFrame, key: str) -> pl.Series:
    """Number of the session and key of each row."""
    numbers = frame.lazy().select(key).unique().with_row_index("number").collect()
    numbered = frame.lazy().select("session", key).join(numbers.lazy(), on=key, **LEFT)
    return numbered.select(col("session") * numbers.height + col("number").cast(pl.Int64)).collect().to_series()


def codes(group: pl.Series, position: pl.Series) -> np.ndarray:
    """Group and position as one number, with room for a window between groups."""
    return (group * STRIDE + position + HORIZON).to_numpy()


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


def lists(each: pl.DataFrame, turns: int) -> pl.Series:
    """Candidates as one list a turn."""
    fields = each.select(
        col(c.name).cast(pl.Float32) if str(c.type) == "float" else col(c.name) for c in CANDIDATE_COLUMNS
    )
    count = np.bincount(each["row"].to_numpy(), minlength=turns)
    offsets = pa.array(np.concatenate([[0], np.cumsum(count)]), pa.int64())
    structs = fields.to_struct().rechunk().to_arrow()
    return pl.Series("candidates", pa.LargeListArray.from_arrays(offsets, structs))


def main() -> int:
    """Read, compute, write; says on standard output how long the work took without the start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=Path, required=True, help="folder of the ingest stage's turns")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    begin = time.monotonic()
    words = tomllib.loads(LEXICON.read_text(encoding="utf-8"))
    table = signals(pl.scan_parquet(arguments.turns / "bucket-*.parquet"), words)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(arguments.out, compression="zstd", compression_level=1)
    print(json.dumps({"turns": table.height, "seconds": round(time.monotonic() - begin, 3)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
