"""What the templates leave open, and what users and the system say beside them; one resource file a language."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Lists:
    """The parts of a resource file; its comments say what each holds."""

    locale: str
    places: dict[str, list[str]]
    names: dict[str, list[str]]
    free: dict[str, list[str]]
    numbers: dict[str, list[int]]
    sound_alikes: tuple[tuple[str, str], ...]
    acts: dict[str, list[str]]
    popularity: dict[str, int]
    speech: dict[str, list[str]]
    system: dict[str, list[str]]


@cache
def load(language: str = "en") -> Lists:
    """Read the lists of a language."""
    held: dict[str, Any] = tomllib.loads(
        resources.files("simulator").joinpath("lists", f"{language}.toml").read_text(encoding="utf-8")
    )
    pairs = tuple((a, b) for a, b in held.pop("sound_alikes")["pairs"])
    return Lists(sound_alikes=pairs, **held)
