"""What becomes of a turn has one name, and one set of words for people."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from pipeline.transforms import pool, voters
from pipeline.writers.contents import left_out
from schemas import LeftOutReason, outcome_words
from schemas.outcome import OF_EXAMPLES, OF_TURNS

OUTCOMES = OF_TURNS | OF_EXAMPLES
DOCS = Path(__file__).parents[1] / "docs" / "cli.md"


def test_every_outcome_of_the_code_has_words_of_its_own():
    decided = inspect.getsource(voters.decide)
    named = set(re.findall(r'"(\w+)"', decided[decided.index("no_consent") - 1 : decided.index('"vote",\n    )')]))
    named |= {"outvoted", "below_support", "disagreement", "contradicted", "in_train", "kept", "de_duplicated"}
    source = inspect.getsource(pool)
    assert all(f'"{name}"' in source or f"`{name}`" in source for name in ("outvoted", "contradicted", "in_train"))
    assert named <= set(OF_TURNS) and set(LeftOutReason) <= set(OF_EXAMPLES) and not set(OF_TURNS) & set(OF_EXAMPLES)
    assert len(set(OUTCOMES.values())) == len(OUTCOMES)
    assert all("_" not in words and len(words) < 40 for words in OUTCOMES.values())
    assert outcome_words("of_later_code") == "of later code"


def test_the_page_has_every_outcome_with_its_words():
    text = DOCS.read_text(encoding="utf-8")
    table = text[text.index("| outcome | in words |") : text.index("- The stages must be those")]
    for name, words in OUTCOMES.items():
        if name != "forgotten":
            assert f"`{name}`" in table and words in table, name


def test_the_card_says_of_what_an_outcome_is():
    """Examples that `forget` took out are no turns."""
    closing = {"in": 9, "kept": 4, "uncertain": 3, "forgotten": 2}
    card = left_out({"counts": {"ingest": {}}, "closing": {"curate": closing}})
    assert "| turn: not sure enough | 3 |" in card and "| example: of a forgotten user | 2 |" in card
