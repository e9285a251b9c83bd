"""What the user and the system do with words: negate, correct, thank, apologise ...; and how a confirmation ends.

Error-correcting language, termination and gratitude are among the signals of Park et al. 2021 (arXiv 2010.12251);
asking back, correcting and thanking among the kinds of natural feedback. The five kinds in chat each have a column:
repeat or rephrase is `rephrase_next` and `repeats_next`; makes aware with correction is `corrects_next`, without
correction `complains_next`; asks for clarification is `asks_back_next`; positive is `thanks_next`.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from features.lexicon import USER_ACTS, Lexicon, matches, user_act
from features.neighbours import shift
from features.timeline import Timeline


def user_acts(normalised: pa.Array, intent: pa.Array, lexicon: Lexicon) -> dict[str, pa.Array]:
    """Acts of each turn, never null. A turn that corrects does not complain: it says what is right."""
    own = {act: user_act(normalised, intent, act, lexicon) for act in USER_ACTS}
    own["complains"] = pc.and_not(own["complains"], own["corrects"])
    return own


def reactions(own: dict[str, pa.Array], line: Timeline) -> dict[str, pa.Array]:
    """Acts of the next turn; `<act>_next` is null at a session's last turn.

    `negates_second` is true where the turn after the next negates, goes back or restarts; null where there is none.

    Parameters
    ----------
    own : dict of pyarrow.BooleanArray
        From `user_acts`, among other columns.
    line : Timeline
        Sessions.
    """
    out = {f"{act}_next": shift(own[act], line, 1) for act in USER_ACTS}
    friction = pc.or_(pc.or_(own["negates"], own["goes_back"]), own["restarts"])
    return out | {"negates_second": shift(friction, line, 2)}


def system_acts(prompt: pa.Array, response: pa.Array, lexicon: Lexicon) -> dict[str, pa.Array]:
    """What the system's words do. A missing text counts as one that does nothing.

    Parameters
    ----------
    prompt, response : pyarrow.StringArray
        Normalised and folded text before and after the request, shape (n,).
    lexicon : Lexicon
        The language.
    """

    def does(text: pa.Array, act: str) -> pa.Array:
        return matches(text, lexicon.system[act]).fill_null(False)

    return {
        "asked_confirmation": does(prompt, "asks_confirmation"),
        "asks_confirmation": does(response, "asks_confirmation"),
        "apologises": does(response, "apologises"),
        "cannot_help": does(response, "cannot_help"),
        "prompt_apologises": does(prompt, "apologises"),
    }


def confirmation(asks: pa.Array, negates_next: pa.Array, affirms_next: pa.Array) -> pa.Array:
    """How the confirmation that the answer asks for ends.

    Returns
    -------
    pyarrow.Int32Array
        +1 affirmed, -1 denied (a turn that does both counts as denied), 0 neither; null where the answer asks
        for none or no turn follows.
    """
    outcome = pc.case_when(
        pc.make_struct(negates_next.fill_null(False), affirms_next.fill_null(False)),
        pa.scalar(-1, pa.int32()),
        pa.scalar(1, pa.int32()),
        pa.scalar(0, pa.int32()),
    )
    return pc.if_else(pc.and_(asks, negates_next.is_valid()), outcome, pa.scalar(None, pa.int32()))
