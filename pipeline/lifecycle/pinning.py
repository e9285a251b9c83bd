"""`afterword pin`: a name of a consumer's own for a release, which stays until the consumer moves it."""

from __future__ import annotations

import re
from typing import Any, Final

from pipeline.errors import ConfigError
from pipeline.explain.release import open_release
from pipeline.jobs.context import Context
from pipeline.lifecycle.listing import PINS, pins
from pipeline.lifecycle.rollback import mind_forgotten
from pipeline.publish import CURRENT, publisher

# It becomes a file's name on any store.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def pin(context: Context, name: str | None, release: str | None, remove: bool = False) -> dict[str, Any]:
    """Set, move or take away a pin; without a name list them.

    Parameters
    ----------
    context : Context
        Of the output folder.
    name : str or None
    release : str or None
        Release id, its beginning, or CURRENT for the one that is current now.
    remove : bool

    Returns
    -------
    dict
        `pins`: name to release id, as they are now.

    Raises
    ------
    ConfigError
        If the name is none, no release has that id, or what is wished is not told.
    PublishError
        If the release holds a user who was forgotten.
    """
    out = context.workspace.out
    store = publisher(out)
    if name is not None:
        if not _NAME.fullmatch(name):
            raise ConfigError(f"pin {name!r}: letters, digits, _ . and -, at most 64, and the first no . are wanted")
        if remove == (release is not None):
            raise ConfigError(f"pin {name}: a release id, CURRENT, or --remove is wanted")
        if remove and name not in pins(out, store):
            raise ConfigError(f"pin {name}: there is none; there are: {', '.join(pins(out, store)) or 'none'}")
        if remove:
            store.drop(f"{PINS}/{name}")
        else:
            store.switch(f"{PINS}/{name}", _release(context, release))
    elif remove or release:
        raise ConfigError("pin: a name is wanted")
    return {"pins": pins(out, store)}


def _release(context: Context, release: str | None) -> str:
    found = open_release(context.workspace.out, None if release == CURRENT else release, "").id
    mind_forgotten(context, found)
    return found
