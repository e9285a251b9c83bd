"""Which component a wrong turn is blamed on, held against what went wrong in the simulator."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

Names = npt.NDArray[np.object_]

CLASSES: Final = ("asr", "intent", "slots")


def truth_of_blame(truth: pd.DataFrame, utterance: pd.Series, top: pd.Series) -> Names:
    """What went wrong first in each turn whose leading interpretation is not what was meant; empty for the others.

    Other words were heard than were said: asr. Else domain or intent differ: intent. Else: slots.

    Parameters
    ----------
    truth : pandas.DataFrame
        TRUTH rows.
    utterance : pandas.Series
        What was heard, aligned with `truth`.
    top : pandas.Series
        The leading interpretation (a dict, or None), aligned with `truth`.
    """
    misheard = truth["said"].to_numpy(object) != utterance.to_numpy(object)
    read = [
        (t or {}).get("domain") == d and (t or {}).get("intent") == i
        for t, d, i in zip(top, truth["domain"], truth["intent"], strict=True)
    ]
    named = np.select([~truth["wrong"].to_numpy(bool), misheard, ~np.array(read, bool)], ["", "asr", "intent"], "slots")
    return named.astype(object)


def figures(blame: Names, meant: Names, found: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Accuracy of blame on the wrong turns that were found, beside that of the commonest answer; recall by class."""
    at = found & (meant != "")
    if not at.any():
        return {}
    said, right = blame[at], meant[at]
    commonest = max(float((right == name).mean()) for name in CLASSES)
    out = {"accuracy": float((said == right).mean()), "baseline.accuracy": commonest, "turns": float(at.sum())}
    for name in CLASSES:
        if (right == name).any():
            out[f"{name}.recall"] = float((said[right == name] == name).mean())
        if (said == name).any():
            out[f"{name}.precision"] = float((right[said == name] == name).mean())
    return out
