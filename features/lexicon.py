"""The language-bound parts, one resource file a language."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

import pyarrow as pa
import pyarrow.compute as pc

from features.text import mapped

USER_ACTS = ("negates", "affirms", "goes_back", "restarts")


@dataclass(frozen=True)
class Lexicon:
    """Patterns (RE2, over normalised text) and intent names of one language."""

    locale: str
    user: dict[str, str]
    user_intents: dict[str, tuple[str, ...]]
    system: dict[str, str]
    question: dict[str, str]


@cache
def load(language: str = "en") -> Lexicon:
    """Read the lexicon of a language.

    Raises
    ------
    LookupError
        If there is none for the language.
    """
    path = resources.files("features").joinpath("lexicons", f"{language}.toml")
    if not path.is_file():
        known = sorted(p.name[:-5] for p in resources.files("features").joinpath("lexicons").iterdir())
        raise LookupError(f"no lexicon for language {language!r}; there are: {', '.join(known)}")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    intents = {act: tuple(names) for act, names in data["user_intents"].items()}
    return Lexicon(data["locale"], data["user"], intents, data["system"], data["question"])


def matches(normalised: pa.Array, pattern: str) -> pa.Array:
    """Whether each text matches; null text gives null."""
    return mapped(normalised, lambda text: pc.match_substring_regex(text, pattern=pattern))


def user_act(normalised: pa.Array, intent: pa.Array, act: str, lexicon: Lexicon) -> pa.Array:
    """Whether the user's turn performs an act: by intent where the NLU names one, else by the words.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        Normalised utterances, shape (n,).
    intent : pyarrow.StringArray
        Best hypothesis' intent, null where there is none, shape (n,).
    act : str
        One of `USER_ACTS`.
    lexicon : Lexicon
        The language.

    Returns
    -------
    pyarrow.BooleanArray
        Shape (n,), never null.
    """
    by_words = matches(normalised, lexicon.user[act]).fill_null(False)
    lowered = pc.utf8_lower(intent)
    by_intent = pc.is_in(lowered, value_set=pa.array(lexicon.user_intents[act])).fill_null(False)
    named = [name for names in lexicon.user_intents.values() for name in names]
    is_named = pc.is_in(lowered, value_set=pa.array(named)).fill_null(False)
    return pc.if_else(is_named, by_intent, by_words)
