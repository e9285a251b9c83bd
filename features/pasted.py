"""An error that the user pastes: the code or the command that the assistant gave did not work."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import mapped

# What programs print, whatever the user's language. Classes are spelt out, as engines differ in \\w, \\d and \\s.
_ERRORS: Final = (
    r"Traceback \(most recent call last\)",
    r'\bFile "[^"\n]+", line [0-9]+',
    # A class of errors: KeyError, java.lang.NullPointerException.
    r"[A-Za-z](?:Error|Exception)\b",
    # "error:", "ERROR 1064 (42000):", "error TS2345:", "error[E0382]:".
    r"(?i:\berror)(?: ?\[?[A-Z]{0,4}[0-9]+\]?)?(?: \([A-Z0-9]+\))?:",
    # A line of a Java or JavaScript stack.
    r"\bat [^\n()]+\([^\n()]*:[0-9]+\)",
    r"Segmentation fault|core dumped|npm ERR!|undefined reference to|command not found|No such file or directory",
    r"\b(?:panic|fatal): |\bexit(?:ed with)? (?:code|status) [1-9]|\bUncaught ",
    r"\b(?:HTTP(?:/[0-9.]+)?|status|status code) [45][0-9][0-9]\b",
)
PATTERN: Final = "|".join(_ERRORS)


def pastes_error(utterance: pa.Array) -> pa.Array:
    """Whether each utterance, as logged, holds a stack trace or an error message of a program, shape (n,).

    Null text gives null. Letter case and punctuation count: "I made an error" is no such message, "Error: x" is one.

    Parameters
    ----------
    utterance : pyarrow.StringArray, or dictionary-encoded
        Not normalised, shape (n,).
    """
    return mapped(utterance, lambda texts: pc.match_substring_regex(texts, pattern=PATTERN))
