"""Figures, names of columns, and what several parts use."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from rapidfuzz import fuzz, process

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
NEGATION_REACH: Final = 2
EDIT_LIKENESS: Final = 0.8
EDIT_TOKENS: Final = 4
TOOL: Final = "tool"
LEXICONS: Final = Path(__file__).parents[2] / "features" / "lexicons"
DEFAULT: Final = "en"

ORDER: Final = ["subject_id", "event_time", "sequence", "turn_id"]
READ: Final = [
    *ORDER,
    "conversation_id",
    "parent_id",
    "locale",
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
REMARKS: Final = ("corrects", "complains", "asks_back", "gives_up", "closes", "escalates", "thanks", "says_sorry")
SYSTEM_ACTS: Final = ("asks_confirmation", "apologises", "cannot_help")
OUTCOMES: Final = {"falls_back": "fallback", "clarifies": "clarify", "hands_off": "handoff"}
LEFT: Final[dict[str, Any]] = {"how": "left", "maintain_order": "left"}
col = pl.col


def lexicons() -> dict[str, dict[str, Any]]:
    """The words of each language."""
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(LEXICONS.glob("*.toml"))}


def near(values: pl.Expr | str, offset: int) -> pl.Expr:
    """The value so many turns on, null across the session's bounds."""
    values = col(values) if isinstance(values, str) else values
    at = col("position") + offset
    return pl.when((at >= 0) & (at < col("length"))).then(values.shift(-offset))


def lead(field: str) -> pl.Expr:
    """A field of the leading interpretation."""
    return col("interpretations").list.get(0, null_on_oob=True).struct.field(field)


def number(values: pl.Expr) -> pl.Expr:
    """A 64-bit hash."""
    return values.hash().reinterpret(signed=True)


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
