"""What the user said and the system answered; each distinct text is worked on once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from rapidfuzz import fuzz

from bench.reference_polars.common import (
    DEFAULT,
    DIALOG_ACTS,
    LEFT,
    NEGATION_REACH,
    OUTCOMES,
    REMARKS,
    SYSTEM_ACTS,
    TOOL,
    at_rows,
    col,
    likeness,
    near,
    number,
    ratio,
)

_ASKED: Final = r"([^.?!]+)\?[^?]*$"
_LAST: Final = r"([^.?!]+)[.?!\s]*$"
_PASTED: Final = (
    r"Traceback \(most recent call last\)",
    r'(?-u:\b)File "[^"\n]+", line [0-9]+',
    r"[A-Za-z](?:Error|Exception)(?-u:\b)",
    r"(?-u:\b)(?i-u:error)(?: ?\[?[A-Z]{0,4}[0-9]+\]?)?(?: \([A-Z0-9]+\))?:",
    r"(?-u:\b)at [^\n()]+\([^\n()]*:[0-9]+\)",
    r"Segmentation fault|core dumped|npm ERR!|undefined reference to|command not found|No such file or directory",
    r"(?-u:\b)(?:panic|fatal): |(?-u:\b)exit(?:ed with)? (?:code|status) [1-9]|(?-u:\b)Uncaught ",
    r"(?-u:\b)(?:HTTP(?:/[0-9.]+)?|status|status code) [45][0-9][0-9](?-u:\b)",
)
Words = dict[str, dict[str, Any]]


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


def language(words: Words) -> pl.Expr:
    """Whose words a turn is read by: those of its locale's language, if there are any."""
    named = col("locale").str.to_lowercase().str.replace("[-_].*$", "")
    return pl.when(named.is_in(list(words))).then(named).otherwise(pl.lit(DEFAULT)).alias("language")


def folded(text: pl.Expr, words: dict[str, Any]) -> pl.Expr:
    """Letters of the language in plain ones."""
    fold = words.get("fold", {})
    return text.str.replace_many(list(fold), list(fold.values())) if fold else text


def in_each(frame: pl.DataFrame, words: Words, function: Any) -> pl.DataFrame:
    """A function of a frame and words, for the rows of each language."""
    parts = [function(part, words[str(name)]) for (name,), part in frame.group_by("language", maintain_order=True)]
    return pl.concat(parts) if parts else function(frame, words[DEFAULT])


def system_texts(line: pl.DataFrame, words: Words) -> pl.DataFrame:
    """Columns from the texts before and after each request; each distinct text, and each pair, is worked on once."""
    both = line.select(
        pl.coalesce("prompt", near("response", -1)).alias("before"), col("response").alias("after"), "outcome", "domain"
    ).with_columns(line.select(language(words)))
    sides = [both.select("language", text=side) for side in ("before", "after")]
    texts = pl.concat(sides).drop_nulls("text").unique()
    known = in_each(texts, words, system_text).with_row_index("id")
    fields = known.lazy()
    numbered = both.lazy()
    for side in ("before", "after"):
        keys = {"left_on": [side, "language"], "right_on": [f"text_{side}", f"language_{side}"]}
        numbered = numbered.join(fields.rename(lambda n, side=side: f"{n}_{side}"), **keys, **LEFT)
    numbered = numbered.collect()
    pairs = scored_pairs(numbered, known)
    joined = numbered.lazy().join(pairs.lazy(), on=["id_before", "id_after"], **LEFT)
    failed = (col("outcome") == "error").fill_null(False) | col("reports_error_after").fill_null(False)
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
        pl.when(col("domain") == TOOL).then(failed).alias("tool_failed"),
    ).collect()


def system_text(texts: pl.DataFrame, words: dict[str, Any]) -> pl.DataFrame:
    """What each text of the system does."""
    held = texts.lazy().with_columns(words=normal(col("text")), question=question(words))
    acts = [
        folded(col("words"), words).str.contains(pattern(words["system"][act])).alias(act)
        for act in (*SYSTEM_ACTS, *OUTCOMES, "reports_error")
    ]
    return held.with_columns(*acts, tokens=tokens(col("words"))).collect()


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
    whole = folded(normal(asked), words)
    brief = whole.str.replace_all(pattern(words["question"]["examples"]), "")
    brief = brief.str.replace_all(pattern(words["question"]["filler"]), "").str.strip_chars()
    kept = pl.when(brief == "").then(whole).otherwise(brief)
    return pl.when(kept != "").then(kept)


def user_texts(line: pl.DataFrame, words: Words) -> pl.DataFrame:
    """The words of each request and what they do; each distinct utterance, and each intent, is looked at once."""
    said = line.select("utterance", "intent", language(words))
    held = in_each(said.select("utterance", "language").unique(), words, user_text)
    intents = in_each(said.select("intent", "language").drop_nulls().unique(), words, named_acts)
    joined = (
        said.lazy()
        .join(held.lazy(), on=["utterance", "language"], **LEFT)
        .join(intents.lazy(), on=["intent", "language"], **LEFT)
    )
    named = {act: col(f"{act}_named").fill_null(False) for act in DIALOG_ACTS + REMARKS}
    of_dialog = pl.any_horizontal(named[act] for act in DIALOG_ACTS)
    acts = joined.select(
        "words",
        "utterance_tokens",
        "sentiment",
        "pastes_error",
        pl.when(col("utterance_tokens") > 0).then(number(col("words"))).alias("utterance_id"),
        *(pl.when(of_dialog).then(named[act]).otherwise(col(act)).alias(act) for act in DIALOG_ACTS),
        *((col(act) | named[act]).alias(act) for act in REMARKS),
        (~pl.any_horizontal(named.values())).alias("is_request"),
    )
    return acts.with_columns(complains=col("complains") & ~col("corrects")).collect()


def user_text(held: pl.DataFrame, words: dict[str, Any]) -> pl.DataFrame:
    """What each utterance does."""
    held = held.lazy().with_columns(words=normal(col("utterance"))).collect()
    plain = held.select(folded(col("words"), words)).to_series()
    acts = [pl.lit(plain).str.contains(pattern(words["user"][act])).alias(act) for act in DIALOG_ACTS + REMARKS]
    return held.with_columns(
        tokens(col("words")).alias("utterance_tokens"),
        col("utterance").str.contains("|".join(_PASTED)).alias("pastes_error"),
        sentiment(plain, words["sentiment"]),
        *acts,
    )


def sentiment(plain: pl.Series, kinds: dict[str, list[str]]) -> pl.Series:
    """Balance of the words of sentiment in each text."""
    word = plain.alias("word").to_frame().with_row_index("text").with_columns(col("word").str.split(" "))
    word = (
        word.lazy()
        .explode("word")
        .with_columns(
            tone=col("word").is_in(kinds["positive"]).cast(pl.Int64)
            - col("word").is_in(kinds["negative"]).cast(pl.Int64),
            negates=col("word").is_in(kinds["negators"]),
        )
    )
    before = [
        (col("negates").shift(k) & (col("text") == col("text").shift(k))).fill_null(False)
        for k in range(1, NEGATION_REACH + 1)
    ]
    turned = pl.when(pl.any_horizontal(before)).then(-col("tone")).otherwise(col("tone"))
    count = (col("tone") != 0).sum()
    return (
        word.with_columns(turned=turned)
        .group_by("text", maintain_order=True)
        .agg(sentiment=(col("turned").sum() / (count + 1)).cast(pl.Float32))
        .collect()["sentiment"]
    )


def named_acts(intents: pl.DataFrame, words: dict[str, Any]) -> pl.DataFrame:
    """Which act each intent's name is."""
    names, intent = words["user_intents"], col("intent").str.to_lowercase()
    acts = (intent.is_in(names.get(act, [])).alias(f"{act}_named") for act in DIALOG_ACTS + REMARKS)
    return intents.with_columns(*acts)
