"""Large modules, which are imported where they are wanted."""

from __future__ import annotations

import gc
import importlib
from types import ModuleType


def imported(name: str) -> ModuleType:
    """Import a module, without looking for garbage meanwhile.

    What modules leave is there to stay, and to look it all through again and again takes a fifth of an import's time.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if was:
            gc.enable()
