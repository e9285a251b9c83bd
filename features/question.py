"""What the system asks: the question of a prompt without its examples, and whether the answer asks it again.

A system that was answered seldom asks the same again; it words the second try differently ("Where are you
leaving from?", then "Sorry, say the place you're leaving from, like the airport"), so whole texts are poor to
compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import fuzz, process

from features.hashing import hash64, strings
from features.lexicon import Lexicon, folded
from features.neighbours import masked
from features.text import F32, distinct, likeness_held, normalise, reworded

# The last sentence that ends in a question mark; where there is none, the last sentence.
_ASKED: Final = r"(?P<q>[^.?!]+)\?[^?]*$"
_LAST: Final = r"(?P<q>[^.?!]+)[.?!\s]*$"


def questions(text: pa.Array, lexicon: Lexicon) -> pa.Array:
    """The question of each text (see `features.text.reworded`): normalised, without the examples it gives and
    without filler words.

    Null where the text is missing or has no words. A question of filler words only keeps them.

    Parameters
    ----------
    text : pyarrow.StringArray
        The system's words as logged, shape (n,).
    lexicon : Lexicon
        The language.
    """
    return reworded(text, lambda distinct: _questions(distinct, lexicon))


def _questions(text: pa.Array, lexicon: Lexicon) -> pa.Array:
    asked = pc.struct_field(pc.extract_regex(text, pattern=_ASKED), "q")
    rest = pc.if_else(asked.is_null(), text, pa.scalar(None, pa.string()))
    last = pc.struct_field(pc.extract_regex(rest, pattern=_LAST), "q")
    whole = folded(normalise(pc.coalesce(asked, last)), lexicon)
    brief = pc.replace_substring_regex(whole, pattern=lexicon.question["examples"], replacement="")
    brief = pc.replace_substring_regex(brief, pattern=lexicon.question["filler"], replacement="")
    brief = pc.utf8_trim_whitespace(brief)
    kept = pc.if_else(pc.equal(brief, ""), whole, brief)
    return pc.if_else(pc.equal(kept, ""), pa.scalar(None, pa.string()), kept)


def question_repeat(prompt: pa.Array, response: pa.Array, lexicon: Lexicon) -> dict[str, pa.Array]:
    """Which question the prompt asks, and how far the answer asks it again.

    `question_repeat` is rapidfuzz's token-set ratio of the two questions: 1 where the words of one are all in
    the other. Null where either text is missing. `question_id` is null where the prompt is.

    Parameters
    ----------
    prompt, response : pyarrow.StringArray
        The system's words before and after the request, as logged, shape (n,).
    lexicon : Lexicon
        The language.
    """
    before, after = distinct(questions(prompt, lexicon)), distinct(questions(response, lexicon))
    same = likeness_held(before, after, _contained)
    asked = strings(before)
    return {
        "question_id": masked(hash64(asked).view(np.int64), asked != "", pa.int64()),
        "question_repeat": masked(same, ~np.isnan(same), pa.float32()),
    }


def _contained(left: Sequence[str], right: Sequence[str]) -> F32:
    if not len(left):
        return np.zeros(0, np.float32)
    score = process.cpdist(left, right, scorer=fuzz.token_set_ratio, dtype=np.float32)
    return np.asarray(score / np.float32(100.0), dtype=np.float32)
