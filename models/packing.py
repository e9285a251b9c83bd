"""Arrays in a model file: base64 of little-endian numbers, the same text on every machine."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def pack(values: npt.NDArray[Any], form: str) -> str:
    """Values in row order as text.

    Parameters
    ----------
    values : numpy.ndarray
    form : str
        NumPy's name of how a number is kept, little-endian: "<f8", "<i4" ... A number that it cannot hold is rounded.
    """
    return base64.b64encode(values.astype(form).tobytes()).decode("ascii")


def unpack(text: str, form: str) -> npt.NDArray[Any]:
    """Values of a text that `pack` gave, in one dimension; not to be written to."""
    return np.frombuffer(base64.b64decode(text), form)
