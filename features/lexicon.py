"""The language-bound parts, one resource file a language, and which of them speaks in a turn."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import mapped, reworded

# What a turn of the dialog itself does. An NLU that names one of them means it, and none of the others.
DIALOG_ACTS: Final = ("negates", "affirms", "goes_back", "restarts")
# What may come along with a request: "no I meant jazz, thanks".
REMARKS: Final = ("corrects", "complains", "asks_back", "gives_up", "closes", "escalates", "thanks", "says_sorry")
USER_ACTS: Final = DIALOG_ACTS + REMARKS
SYSTEM_ACTS: Final = (
    "asks_confirmation",
    "apologises",
    "cannot_help",
    "falls_back",
    "clarifies",
    "hands_off",
    "reports_error",
)
# What a resource file has to hold. `user_intents` may leave acts out, and `fold` may be missing.
_WANTED: Final = {
    "user": USER_ACTS,
    "system": SYSTEM_ACTS,
    "question": ("examples", "filler"),
    "sentiment": ("positive", "negative", "negators"),
}


@dataclass(frozen=True)
class Lexicon:
    """Patterns (RE2, over normalised and folded text), words of sentiment, and intent names of one language.

    `fold` gives letters of the language in plain ones (German "ü" as "ue"): both ways of writing count as one, and
    the word bounds of RE2, which knows those of ASCII alone, hold.
    """

    locale: str
    user: dict[str, str]
    user_intents: dict[str, tuple[str, ...]]
    system: dict[str, str]
    question: dict[str, str]
    sentiment: dict[str, tuple[str, ...]]
    fold: tuple[tuple[str, str], ...] = ()


def known() -> list[str]:
    """Languages that have a lexicon."""
    names = (p.name for p in resources.files("features").joinpath("lexicons").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


@cache
def load(language: str = "en") -> Lexicon:
    """Read the lexicon of a language.

    Raises
    ------
    LookupError
        If there is none for the language, or its file lacks a key or holds one that is not known.
    """
    if language not in known():
        raise LookupError(f"no lexicon for language {language!r}; there are: {', '.join(known())}")
    path = resources.files("features").joinpath("lexicons", f"{language}.toml")
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(text: str, name: str) -> Lexicon:
    """A lexicon from the text of its resource file, which errors call `name`.

    Raises
    ------
    LookupError
        If a key is missing, or one is not known.
    """
    data = tomllib.loads(text)
    found = {f"{section}.{key}" for section in (*_WANTED, "user_intents") for key in data.get(section, {})}
    wanted = {f"{section}.{key}" for section, keys in _WANTED.items() for key in keys}
    missing = sorted(wanted - found) + [key for key in ("locale", "user_intents") if key not in data]
    unknown = sorted(found - wanted - {f"user_intents.{act}" for act in USER_ACTS})
    if missing or unknown:
        lists = [f"{what}: {', '.join(keys)}" for what, keys in (("missing", missing), ("not known", unknown)) if keys]
        raise LookupError(f"lexicon {name}: keys {'; '.join(lists)}; wanted are those of en.toml")
    return Lexicon(
        locale=data["locale"],
        user=data["user"],
        user_intents=_tuples(data["user_intents"]),
        system=data["system"],
        question=data["question"],
        sentiment=_tuples(data["sentiment"]),
        fold=tuple(data.get("fold", {}).items()),
    )


def _tuples(section: dict[str, list[Any]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in section.items()}


def folded(normalised: pa.Array, lexicon: Lexicon) -> pa.Array:
    """Normalised text with the language's letters in plain ones (see `Lexicon`); null stays null."""

    def fold(text: pa.Array) -> pa.Array:
        for letter, plain in lexicon.fold:
            text = pc.replace_substring(text, pattern=letter, replacement=plain)
        return text

    return reworded(normalised, fold)


def matches(normalised: pa.Array, pattern: str) -> pa.Array:
    """Whether each text matches; null text gives null."""
    return mapped(normalised, lambda text: pc.match_substring_regex(text, pattern=pattern))


def user_act(normalised: pa.Array, intent: pa.Array, act: str, lexicon: Lexicon) -> pa.Array:
    """Whether the user's turn performs an act.

    One of `DIALOG_ACTS`: by intent where the NLU names any of them, else by the words. One of `REMARKS`: by either.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        Normalised and folded utterances, shape (n,).
    intent : pyarrow.StringArray, or dictionary-encoded
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
    by_intent = named(intent, (act,), lexicon)
    if act in REMARKS:
        return pc.or_(by_words, by_intent)
    return pc.if_else(named(intent, DIALOG_ACTS, lexicon), by_intent, by_words)


def named(intent: pa.Array, acts: Sequence[str], lexicon: Lexicon) -> pa.Array:
    """Whether each intent's name is that of one of the acts, letter case aside; null is none.

    Intents may be dictionary-encoded, so that each name is looked at once.
    """
    names = [name for act in acts for name in lexicon.user_intents.get(act, ())]
    held = pa.array(names, pa.string())
    return mapped(intent, lambda known: pc.is_in(pc.utf8_lower(known), value_set=held)).fill_null(False)
