"""Which language each turn is in, and columns that hang on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from features.lexicon import Lexicon, known, load
from features.text import distinct, mapped


@dataclass(frozen=True)
class Languages:
    """The lexicons of n turns.

    Attributes
    ----------
    default : Lexicon
        Of every turn that is in none of `others`.
    others : tuple of (Lexicon, pyarrow.BooleanArray of shape (n,))
        Other lexicons, each with the turns that it speaks in; no turn is in two.
    """

    default: Lexicon
    others: tuple[tuple[Lexicon, pa.BooleanArray], ...] = ()

    def columns(self, function: Callable[[Lexicon], dict[str, pa.Array]]) -> dict[str, pa.Array]:
        """Columns that a function gives for a lexicon, each turn's value by its own.

        The function is called once for each language over all turns: a log in one language pays for one.
        """
        out = function(self.default)
        for lexicon, rows in self.others:
            for name, values in function(lexicon).items():
                out[name] = pc.if_else(rows, values, out[name])
        return out


def languages(locale: pa.Array | pa.ChunkedArray, default: str, by_locale: bool = True) -> Languages:
    """The lexicon of each turn: that of its locale's language; `default` where there is no locale or no such lexicon.

    Parameters
    ----------
    locale : pyarrow.StringArray
        BCP 47 tags, shape (n,); the part before the first hyphen (or underscore) is the language, letter case aside.
    default : str
        A language.
    by_locale : bool
        Whether locales are looked at.

    Raises
    ------
    LookupError
        If there is no lexicon for `default`, or one is not complete.
    """
    if not by_locale:
        return Languages(load(default))
    language = mapped(distinct(locale), _language)
    spoken = sorted(set(pc.unique(language).to_pylist()) & set(known()) - {default})
    return Languages(load(default), tuple((load(name), pc.equal(language, name).fill_null(False)) for name in spoken))


def _language(locale: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.utf8_lower(locale), pattern="[-_].*$", replacement="")
