"""The language-bound parts, one resource file a language."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import mapped

# What a turn of the dialog itself does. An NLU that names one of them means it, and none of the others.
DIALOG_ACTS: Final = ("negates", "affirms", "goes_back", "restarts")
# What may come along with a request: "no I meant jazz, thanks".
REMARKS: Final = ("corrects", "asks_back", "gives_up", "closes", "escalates", "thanks", "says_sorry")
USER_ACTS: Final = DIALOG_ACTS + REMARKS


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
    """Whether the user's turn performs an act.

    One of `DIALOG_ACTS`: by intent where the NLU names any of them, else by the words. One of `REMARKS`: by either.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        Normalised utterances, shape (n,).
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
