"""Who said the same words: found without reading all, counted as stage curate counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from features.text import normalise
from pipeline.explain.release import open_release
from pipeline.explain.tables import StageTables
from pipeline.explain.turn import explain_turn, voters_of
from pipeline.explain.voters import saying
from pipeline.workspace import Workspace


def rows(texts: list[str], words: str) -> list[int]:
    return saying(pa.array(texts, pa.string()).dictionary_encode(), words).tolist()


def test_the_same_words_are_found_whatever_their_case_marks_and_composition():
    texts = ["Go to ROME!", "go to rome", "go, to rome", "gone to rome", "to rome go", "", "go to rome now"]
    assert rows(texts, "go to rome") == [0, 1, 2]
    assert rows(["caf\u00e9", "cafe\u0301", "cafe", "CAF\u00c9 ?"], "caf\u00e9") == [0, 1, 3]
    # The Kelvin sign is no ASCII letter, yet its small letter is.
    assert rows(["\u212aino", "kino"], "kino") == [0, 1]


@given(st.lists(st.text("aAb\u00e9e\u0301 ?\u212ak\u0130i", max_size=6), min_size=1, max_size=12))
def test_what_is_found_is_what_normalising_every_text_finds(texts: list[str]):
    whole = normalise(pa.array(texts, pa.string())).to_pylist()
    for words in {w for w in whole if w}:
        assert rows(texts, words) == [k for k, w in enumerate(whole) if w == words]


def test_over_all_words_the_outcomes_add_up_to_those_of_the_stage(repaired: Path):
    """And each turn's own outcome is one of them."""
    release, tables = open_release(str(repaired), None), StageTables(Workspace(str(repaired)))
    turns = pq.read_table(repaired / "stages" / "ingest" / "turns")
    said = turns.append_column("words", normalise(turns["utterance"]))
    found: Counter[str] = Counter()
    for words in pc.unique(said["words"]).to_pylist():
        voters = voters_of(tables, release, words)
        outcome = Counter(voters.labels[k]["outcome"] for k in voters.label.tolist())
        outcome["de_duplicated"] = outcome["kept"] - voters.examples.num_rows
        outcome["kept"] = voters.examples.num_rows
        assert voters.turns.num_rows == pc.sum(pc.equal(said["words"], words)).as_py()
        found += Counter(voters.silent) + outcome
    closing = json.loads((Path(release.folder) / "manifest.json").read_text())["closing"]["curate"]
    assert +found == +Counter({k: v for k, v in closing.items() if k != "in"})


def test_each_turn_of_some_words_has_its_own_outcome(repaired: Path):
    """One turn gives an example its wording, so one is `kept`; the others agree with the counts of their words."""
    release, tables = open_release(str(repaired), None), StageTables(Workspace(str(repaired)))
    voters = voters_of(tables, release, "how is it over in nice")
    told = [
        explain_turn(tables, release, tables.find(turn), voters)["became"]["outcome"]
        for turn in voters.turns["turn_id"].to_pylist()
    ]
    outcome = Counter(told)
    assert outcome["kept"] == voters.examples.num_rows
    kinds = voters.examples["kind"].to_pylist()
    assert kinds.count("correction") + kinds.count("confirmation") == 1 and kinds.count("rejection") == len(kinds) - 1
    assert {k: v for k, v in outcome.items() if k in voters.silent} == voters.silent
    assert sum(outcome.values()) == voters.turns.num_rows > 20
