"""What the user said and the system answered; each distinct text is worked on once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from rapidfuzz import fuzz

from bench.reference_polars.common import (
    DIALOG_ACTS,
    LEFT,
    OUTCOMES,
    REMARKS,
    SYSTEM_ACTS,
    at_rows,
    col,
    likeness,
    near,
    number,
    ratio,
)

_ASKED: Final = r"([^.?!]+)\?[^?]*$"
_LAST: Final = r"([^.?!]+)[.?!\s]*$"


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
        pl.when(col("utterance_tokens") > 0).then(number(col("words"))).alias("utterance_id"),
        *(pl.when(of_dialog).then(named[act]).otherwise(col(act)).alias(act) for act in DIALOG_ACTS),
        *((col(act) | named[act]).alias(act) for act in REMARKS),
        (~pl.any_horizontal(named.values())).alias("is_request"),
    ).collect()
