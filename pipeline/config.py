"""The configuration of a run: one TOML file, every key optional, every key settable on the command line."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from datetime import datetime
from typing import Any

from pipeline import storage
from pipeline.checks import check
from pipeline.errors import ConfigError
from pipeline.options import Config


def load(path: str | None, overrides: list[str]) -> Config:
    """Read a configuration file and apply `section.key=value` overrides.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a key or value is not one of ours.
    """
    data: dict[str, Any] = {}
    if path:
        try:
            data = tomllib.loads(storage.read_bytes(path).decode("utf-8"))
        except OSError as error:
            raise ConfigError(f"--config {path}: cannot be read ({error})") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"--config {path}: not TOML ({error})") from None
    for override in overrides:
        _override(data, override)
    return check(_build(Config, data, path or "--set"))


def restore(held: dict[str, Any], where: str) -> Config:
    """The configuration that `dataclasses.asdict` made a dict of.

    Raises
    ------
    ConfigError
        If it is not one of this code's.
    """
    return check(_build(Config, held, where))


def _override(data: dict[str, Any], text: str) -> None:
    name, equals, value = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and section and key):
        raise ConfigError(f"--set {text}: section.key=value is wanted, for example curate.min_users=3")
    try:
        parsed = tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    if not isinstance(parsed, bool | int | float | str):
        # A bare time is TOML too; here times are text.
        parsed = value.strip()
    held = data.setdefault(section, {})
    if not isinstance(held, dict):
        raise ConfigError(f"--set {text}: {section} is no section in the configuration file")
    held[key] = parsed


def _build(cls: type, data: dict[str, Any], where: str) -> Any:
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: a table of keys is wanted, found {data!r}")
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; there are: {', '.join(sorted(hints))}")
    values = {}
    for key, value in data.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            values[key] = _build(typing.cast(type, hint), value, f"{where} [{key}]")
        else:
            values[key] = _typed(value, hint, f"{where} {key}")
    return cls(**values)


def _typed(value: Any, hint: Any, where: str) -> Any:
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, datetime) and str in allowed:
        # A bare time in TOML; here times are text.
        return value.isoformat()
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
        wanted = " or ".join(t.__name__ for t in allowed if t is not type(None))
        raise ConfigError(f"{where}: {wanted} is wanted, found {value!r}")
    return value
