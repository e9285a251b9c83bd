"""Examples that a quarantined domain has part in, by their label or by a turn behind them, are withheld and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from build import interpretation, turns
from golden_views import answer, context_turn, example, table
from test_answers import WIDE, judged

from pipeline.errors import VerifyError
from pipeline.gates.counts import by_domain, by_outcome
from pipeline.gates.proof import prove_quarantine
from pipeline.transforms.counts import add_up
from pipeline.transforms.pool import PoolOptions, pool
from pipeline.transforms.quarantine import KeepExamples
from pipeline.transforms.voters import VoteOptions
from pipeline.transforms.votes import votes
from pipeline.transforms.withheld import withheld_for
from pipeline.transforms.write import write_bucket
from schemas import CORRECTION, EXAMPLE


def made(example_id: str, domain: str | None, *judged_in: str, **fields: Any) -> dict[str, Any]:
    """An example whose voting turns were judged in some domains."""
    row = example(example_id, domain=domain, **fields)
    return row | {"provenance": row["provenance"] | {"domains": list(judged_in)}}


ROWS = table(
    made("label", "music", "video"),
    made("turns", "video", "bus", "music"),
    made("none of both", "video", "bus", "video"),
    made("no label", None, "(none)"),
    made("both", "music", "bus"),
    made("nothing", "video"),
)
BEFORE = [
    context_turn("one", "1"),
    context_turn("two", "2", "search") | {"domain": "music"},
    context_turn("three", "3"),
]
ANSWERS = table(
    answer("after music", "and", "so", context=BEFORE),
    answer("after none", "and", "so", context=BEFORE[:1]),
    answer("begins", "and", "so"),
    made("label", "video", "bus"),
)


@pytest.mark.parametrize(
    ("domains", "held"),
    [
        (("music",), ["music", "music", None, None, "music", None]),
        (("bus",), [None, "bus", "bus", None, "bus", None]),
        (("bus", "music"), ["music", "bus", "bus", None, "music", None]),
        (("(none)",), [None, None, None, "(none)", None, None]),
        (("weather",), [None] * 6),
        ((), [None] * 6),
    ],
)
def test_the_label_goes_first_then_the_turns(domains: tuple[str, ...], held: list[str | None]):
    assert withheld_for(ROWS, domains).to_pylist() == held
    assert withheld_for(ROWS.slice(1), domains).to_pylist() == held[1:]
    assert withheld_for(pa.concat_tables([ROWS, ROWS]), domains).to_pylist() == held * 2
    assert withheld_for(EXAMPLE.empty(), domains).to_pylist() == []


def test_a_turn_of_the_domain_before_an_answer_withholds_it():
    assert withheld_for(ANSWERS, ("music",)).to_pylist() == ["music", None, None, None]
    assert withheld_for(ANSWERS.slice(1), ("music", "bus")).to_pylist() == [None, None, "bus"]
    assert withheld_for(ANSWERS, ("(none)", "music")).to_pylist() == ["(none)"] * 3 + [None]


def test_a_correction_of_a_domains_turns_into_another_domain_is_of_both():
    readings = [interpretation("play", domain="music"), interpretation("watch", domain="video")]
    log = turns(*({"subject_id": f"u{k}", "nbest": readings, "executed": 0} for k in range(3)))
    judgements = judged(log, [0.9] * 3)
    at = judgements.column_names.index("domain")
    judgements = judgements.set_column(at, judgements.schema.field(at), pa.array(["music", "music", None]))
    fixed = {"candidate_id": "c", "model_id": "m", "interpretation": readings[1], "source": "n-best", "p_correct": 0.9}
    fixed |= {"margin": 0.5, "accepted": True, "certified": False, "supporting_turns": []}
    corrections = [{"turn_id": turn} | fixed for turn in log["turn_id"].to_pylist()]
    given = pa.Table.from_pylist(corrections, schema=CORRECTION.schema)
    cast, _ = votes(log, judgements, given, VoteOptions(0.05, 0.0, WIDE))
    assert cast["domains"].to_pylist() == [["music"], ["music"], ["(none)"]]
    examples, _ = pool(cast, PoolOptions(2, 0.8, 1, "defect", "correction"))
    assert examples["domain"].to_pylist() == ["video"]
    assert examples["provenance"][0]["domains"].as_py() == ["(none)", "music"]
    assert withheld_for(examples, ("music",)).to_pylist() == ["music"]
    assert withheld_for(examples, ("video", "music")).to_pylist() == ["video"]


def test_what_is_withheld_is_counted_once_and_the_counts_close(tmp_path: Path):
    write_bucket(str(tmp_path), 0, ROWS, EXAMPLE)
    given = list(KeepExamples(str(tmp_path), ("bus", "music")).process(0))
    told = add_up([g.value for g in given if isinstance(g, beam.pvalue.TaggedOutput)])
    kept = [g for g in given if isinstance(g, pa.Table)]
    assert [k["example_id"].to_pylist() for k in kept] == [["no label", "nothing"]]
    assert by_outcome(told) == {"in": 6, "quarantined": 4}
    assert by_domain(told) == {"bus": {"quarantined": 2}, "music": {"quarantined": 2}}


def test_verify_finds_an_example_by_its_label_and_by_its_turns():
    entry = {"withheld": 0, "carried": 0, "carried_dropped": 0}
    manifest = {
        "quarantine": {"domains": {"music": entry}, "carried_from": None},
        "counts": {"release": {}},
        "identity": {"parent": None},
    }
    prove_quarantine("nowhere", manifest, ROWS.take([2, 3, 5]))
    for bad in (0, 1):
        with pytest.raises(VerifyError, match="1 examples of the quarantined domain music, 0 were carried over"):
            prove_quarantine("nowhere", manifest, ROWS.take([2, bad]))
    prove_quarantine("nowhere", manifest, ANSWERS.slice(1))
    with pytest.raises(VerifyError, match="1 examples of the quarantined domain music"):
        prove_quarantine("nowhere", manifest, ANSWERS)
