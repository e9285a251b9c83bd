"""Names in an export: those of a whole release, so that each split has the same, and what a format makes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.export.utterances import Utterance


@dataclass(frozen=True)
class Names:
    """Names of all intents and slots that a release has in any split.

    Attributes
    ----------
    intents, slots : tuple of str
        Sorted.
    """

    intents: tuple[str, ...]
    slots: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Utterance]) -> Names:
        """Those of the rows of all splits."""
        intents, slots = set(), set()
        for row in rows:
            intents.add(row.intent)
            slots.update(span.name for span in row.spans)
        return cls(tuple(sorted(intents)), tuple(sorted(slots)))


def count_renamed(
    rows: Iterable[Utterance],
    told: Counter[str],
    intents: Mapping[str, str] | None = None,
    slots: Mapping[str, str] | None = None,
) -> None:
    """Count the names of some rows that a format has otherwise, each once: `intents.renamed`, `slots.renamed`."""
    used = Names.of(rows)
    told["intents.renamed"] += sum(intents[name] != name for name in used.intents) if intents else 0
    told["slots.renamed"] += sum(slots[name] != name for name in used.slots) if slots else 0


def fitted(
    names: Iterable[str],
    forbidden: str,
    most: int | None = None,
    reserved: Iterable[str] = (),
    alone: str = "_",
    leading: bool = True,
) -> dict[str, str]:
    """A name that the format takes for each name: other characters become `_`, and what then is equal is numbered.
    Names that fit stay as they are.

    All differ in more than letter case, as a name may become a file's.

    Parameters
    ----------
    names : iterable of str
    forbidden : str
        Pattern of what must not stand in one; a run of it becomes one `_`.
    most : int, optional
        Longest name.
    reserved : iterable of str
        Names that the format itself has.
    alone : str
        What a name of forbidden characters alone becomes.
    leading : bool
        Whether a name may begin with `_`, and have two of them in a row.
    """
    distinct = set(names)
    plain = {n: re.sub(f"(?:{forbidden})+", "_", n) for n in distinct}
    plain = {n: (made if leading else made.lstrip("_"))[:most] or alone for n, made in plain.items()}
    # Those that stay as they are keep their names before others.
    ordered = sorted(distinct, key=lambda n: (plain[n] != n, n))
    taken = {name.casefold() for name in reserved}
    out = {}
    for name in ordered:
        made, k = plain[name], 1
        while made.casefold() in taken:
            k += 1
            end = f"_{k}"
            base = plain[name] if most is None else plain[name][: most - len(end)]
            made = (base if leading else base.rstrip("_")) + end
        taken.add(made.casefold())
        out[name] = made
    return out
