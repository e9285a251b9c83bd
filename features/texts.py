"""What the user and the system said, each distinct text held once, as text work is what costs most.

Inside the signals, where the prompt before a turn counts too; `features.said` gives models over words their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from features.system_repeat import prompts
from features.text import distinct, flat, normalise
from features.timeline import Timeline


@dataclass(frozen=True)
class Texts:
    """Texts of n turns, dictionary-encoded, shape (n,).

    Attributes
    ----------
    typed, before, after : pyarrow.DictionaryArray of string
        The utterances, and the system's words before and after each, as logged; no text is twice in a dictionary.
    utterance, prompt, response : pyarrow.DictionaryArray of string
        The same, normalised.
    """

    typed: pa.DictionaryArray
    before: pa.DictionaryArray
    after: pa.DictionaryArray
    utterance: pa.DictionaryArray
    prompt: pa.DictionaryArray
    response: pa.DictionaryArray


def texts_of(turns: pa.Table, line: Timeline) -> Texts:
    """The texts of turns; where no prompt was logged, the previous answer stands for it."""
    response = flat(turns["response"])
    both = distinct(pa.concat_arrays([prompts(flat(turns["prompt"]), response, line), response]))
    logged = (distinct(turns["utterance"]), both[: turns.num_rows], both[turns.num_rows :])
    return Texts(*logged, *(normalise(text) for text in logged))
