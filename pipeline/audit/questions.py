"""What people are asked of a turn, in the same words in every form."""

from __future__ import annotations

from typing import Any, Final

WRONG: Final = "wrong_interpretation"
RIGHT: Final = "right_interpretation"
TITLES: Final = {
    WRONG: "Did the system take the user to mean something else than they meant?",
    RIGHT: "Is the other reading what the user meant?",
}
YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"
CHOICES: Final = (YES, NO, CANNOT_TELL)
GUIDELINES: Final = (
    "Read the dialog; the turn to judge is marked >>. First say whether what the system took it to mean is wrong: the "
    "domain, the intent, or a value. An answer that is unhelpful for another reason is not wrong in this sense. Then, "
    "where another reading is given, say whether it is what the user meant, every value included; leave the question "
    "open where none is given. What the user says afterwards may be used. If the dialog does not tell, choose "
    f"'{CANNOT_TELL}': such turns are counted, and left out of the figures."
)
# What stands in the place of another reading where there is none.
NONE: Final = "(none: leave the second question open)"

# Answers by hand come in more ways than one.
_WORDS: Final = {
    "yes": YES,
    "y": YES,
    "true": YES,
    "1": YES,
    "no": NO,
    "n": NO,
    "false": NO,
    "0": NO,
    "cannot tell": CANNOT_TELL,
    "can't tell": CANNOT_TELL,
    "?": CANNOT_TELL,
}


def choice(value: Any) -> str | None:
    """One of `CHOICES`; None where nothing was answered.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    text = "" if value is None else str(value).strip().lower().replace("_", " ")
    if not text:
        return None
    if text not in _WORDS:
        raise ValueError(f"{value!r}: {', '.join(CHOICES)} or nothing is wanted")
    return _WORDS[text]
