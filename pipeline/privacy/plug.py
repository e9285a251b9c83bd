"""The plug for a recogniser of one's own."""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.errors import ConfigError
from pipeline.privacy.finding import Finding
from pipeline.privacy.marks import TYPE_NAME

Plug = Callable[[list[str]], Sequence[Sequence[Any]]]
_WANTED = "for each text a list of (start, end, type, score) is wanted"


def load(name: str) -> Plug:
    """The callable that `module:callable` names.

    Raises
    ------
    ConfigError
        If it cannot be imported, or is none.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"privacy.recogniser = {name!r}: module:callable is wanted, for example company.names:find")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"privacy.recogniser = {name!r}: cannot be imported ({type(error).__name__}: {error}); install it beside "
            "afterword, on every worker"
        ) from None
    if not callable(found):
        raise ConfigError(f"privacy.recogniser = {name!r}: a callable is wanted, found a {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def findings(plug: Plug, name: str, texts: list[str]) -> list[list[Finding]]:
    """What the plug finds in each text.

    Raises
    ------
    ConfigError
        If the answer is not of the form that is wanted, or the plug fails. No text is quoted.
    """
    try:
        answer = list(plug(list(texts)))
    except Exception as error:
        # Its message may quote a text.
        raise ConfigError(
            f"privacy.recogniser = {name!r}: it failed on {len(texts)} text(s) ({type(error).__name__})"
        ) from None
    if len(answer) != len(texts):
        raise ConfigError(
            f"privacy.recogniser = {name!r}: {len(texts)} texts were given, {len(answer)} answered; {_WANTED}"
        )
    return [[_finding(span, text, name) for span in spans] for text, spans in zip(texts, answer, strict=True)]


def _finding(span: Any, text: str, name: str) -> Finding:
    try:
        start, end, kind, score = span
    except (TypeError, ValueError):
        raise ConfigError(
            f"privacy.recogniser = {name!r}: found a {type(span).__name__} that is no span; {_WANTED}"
        ) from None
    fault = None
    if not (_whole(start) and _whole(end) and 0 <= start < end <= len(text)):
        fault = f"a span {start!r} to {end!r} of a text of {len(text)} code points"
    elif not (isinstance(kind, str) and TYPE_NAME.fullmatch(kind)):
        fault = f"the type {kind!r}, capitals, digits and _ are wanted"
    elif isinstance(score, bool) or not isinstance(score, numbers.Real) or not 0 <= score <= 1:
        fault = f"the score {score!r}, a number from 0 to 1 is wanted"
    if fault:
        raise ConfigError(f"privacy.recogniser = {name!r}: found {fault}; {_WANTED}")
    return Finding(int(start), int(end), kind, float(score))


def _whole(number: Any) -> bool:
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)
