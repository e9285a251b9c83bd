"""Names that a format takes: other characters become `_`, and what then is equal is numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable


def fitted(
    names: Iterable[str], forbidden: str, most: int | None = None, reserved: Iterable[str] = ()
) -> dict[str, str]:
    """A name that the format takes for each name; names that fit stay as they are.

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
    """
    distinct = set(names)
    plain = {n: re.sub(f"(?:{forbidden})+", "_", n)[:most] or "_" for n in distinct}
    # Those that stay as they are keep their names before others.
    ordered = sorted(distinct, key=lambda n: (plain[n] != n, n))
    taken = {name.casefold() for name in reserved}
    out = {}
    for name in ordered:
        made, k = plain[name], 1
        while made.casefold() in taken:
            k += 1
            end = f"_{k}"
            made = (plain[name] if most is None else plain[name][: most - len(end)]) + end
        taken.add(made.casefold())
        out[name] = made
    return out
