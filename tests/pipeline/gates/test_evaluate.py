from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import GateError
from pipeline.gates.evaluate import evaluate
from pipeline.gates.quarantine import enforce
from pipeline.options import Config
from schemas import DOMAIN_SUMMARY
from schemas.expectations import (
    DOMAINS,
    EXAMPLES,
    JUDGEMENTS,
    SIGNALS,
    STAGES,
    STAGES_SUMMED,
    SUITES,
    TURNS,
    VIEWS,
    Expectation,
    Setting,
    Suite,
)

ROOT = Path(__file__).parents[3]

# One good row of each table; a test spoils a value of it.
STAGE = {
    "stage": "ingest",
    "expected_in": 9,
    "rows_in": 9,
    "rows_out": 9,
    "kept": 9,
    "written": 9,
    "dead_letter_share": 0.0,
}
GOOD: dict[str, list[dict[str, Any]]] = {
    "stages": [STAGE | {"stage": stage} for stage in STAGES_SUMMED],
    "turns": [
        {
            "turn_id": f"t{k}",
            "subject_id": "u",
            "event_time": datetime(2026, 3, 1, tzinfo=UTC),
            "executed": None if k else 0,
            "outcome": None if k else "answered",
            "explicit_rating": None if k else 1.0,
            "propensity": None,
            "utterance_length": 4,
        }
        for k in range(2)
    ],
    "signals": [
        {
            "turn_id": f"t{k}",
            "subject_id": "u",
            "session_id": "t0",
            "turns_before": k,
            "turns_after": 1 - k,
            "gap_before": 300.0 if k else None,
            "gap_after": None if k else 300.0,
            "rephrase_best": 0.5,
            "explicit_rating": None,
            "sentiment": -1.0,
            "begins": not k,
            "named_first": not k,
            "without_gap": not k,
        }
        for k in range(2)
    ],
    "judgements": [
        {
            "turn_id": f"t{k}",
            "model_id": "m",
            "session_id": "s",
            "p_defect": 0.2 + k / 2,
            "threshold": 0.5,
            "is_defect": bool(k),
            "certified": bool(k),
            "blame": "asr" if k else "none",
            "at_threshold": bool(k),
            "blamed": bool(k),
            "certified_defect": bool(k),
        }
        for k in range(2)
    ],
    "examples": [
        {
            "example_id": f"e{k}",
            "kind": "confirmation",
            "blame": "none",
            "confidence": 0.9,
            "support": 2,
            "agreement": 0.8,
            "certified": False,
            "split": "train",
            "weight": 0.9,
            "utterance_length": 4,
            "label_length": 2,
            "turns": 2,
        }
        for k in range(2)
    ],
    "views": [
        {
            "row": f"nlu/e{k}",
            "view": "nlu",
            "prompt_length": 4,
            "completion_length": 2,
            "well_formed": True,
        }
        for k in range(2)
    ],
    "domains": [
        {
            "domain": f"d{k}",
            "turns": 100,
            "defects": 90,
            "corrected": 50,
            "examples": 3,
            "judged": True,
            "defect_share": 0.9,
            "correction_share": 0.5,
            "defect_shift": 0.25,
            "intent_shift": 0.33,
            "length_shift": None,
        }
        for k in range(2)
    ],
}


def run(suite: Suite, rows: list[dict[str, Any]], counted: int | None = None) -> list[dict[str, Any]]:
    """Gate rows of a suite; the table is said to have as many rows as it has."""
    table = pa.Table.from_pylist(rows, schema=pa.schema([pa.field(c.name, c.type) for c in suite.record.columns]))
    judged = sum(row.get("turns") or 0 for row in rows) if suite is DOMAINS else 0
    settings = Config().resolved() | {
        "rows": {suite.name: len(rows) if counted is None else counted, "judgements_all": judged}
    }
    return evaluate(suite, table, settings)


def failed(gates: list[dict[str, Any]]) -> list[str]:
    return [g["gate"].split(": ", 1)[1] for g in gates if not g["passed"]]


def spoilt(suite: Suite, **values: Any) -> list[dict[str, Any]]:
    return [*GOOD[suite.name][:-1], GOOD[suite.name][-1] | values]


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)
def test_a_good_table_passes_and_every_expectation_is_evaluated(suite: Suite):
    gates = run(suite, GOOD[suite.name])
    assert failed(gates) == []
    assert [g["gate"] for g in gates[:-1]] == [f"{suite.name}: {e.name}" for e in suite.expectations]
    assert gates[-1]["configured"] == gates[-1]["evaluated"] == len(suite.expectations)


@pytest.mark.parametrize("suite", [s for s in SUITES if s is not DOMAINS], ids=lambda s: s.name)
def test_a_table_of_no_rows_fails_by_its_row_count_alone(suite: Suite):
    # Expectations on values hold for nothing at all: this is why rows are counted first.
    gates = run(suite, [], counted=2)
    assert failed(gates) == ["it has the rows that were counted"] and not gates[0]["passed"]
    assert gates[0]["observed"] == {"value": 0}
    with pytest.raises(GateError, match=f"gate {suite.name}: it has the rows that were counted: does not hold"):
        enforce(gates)


def test_no_domain_at_all_is_a_failure_and_so_are_turns_of_none():
    assert failed(run(DOMAINS, []))[0] == "it has a domain"
    settings = Config().resolved() | {"rows": {"judgements_all": 201}}
    table = pa.Table.from_pylist(GOOD["domains"], schema=DOMAIN_SUMMARY.schema)
    gates = evaluate(DOMAINS, table, settings)
    assert failed(gates) == ["the turns of all domains are those that were judged"]
    with pytest.raises(
        GateError, match="found 200; wanted: expect_column_sum_to_be_between of column turns, min_value 201"
    ):
        enforce(gates)


@pytest.mark.parametrize(
    ("suite", "values", "names"),
    [
        (STAGES, {"rows_in": 8}, ["what a stage was handed went in", "what went in came out"]),
        (STAGES, {"rows_out": 8}, ["what went in came out"]),
        (STAGES, {"written": 8}, ["what was kept is in the table"]),
        (STAGES, {"dead_letter_share": 0.51}, ["dead letters are few"]),
        (STAGES, {"stage": "label"}, ["stage is unique", "turns are left after every stage that keeps turns"]),
        (TURNS, {"turn_id": "t0"}, ["turn_id is unique"]),
        (TURNS, {"turn_id": None}, ["turn_id is never null"]),
        (TURNS, {"event_time": datetime(1970, 1, 1, tzinfo=UTC)}, ["nearly all times are plausible"]),
        (TURNS, {"event_time": None}, ["event_time is never null"]),
        (TURNS, {"utterance_length": 0}, ["utterance_length is large enough"]),
        (TURNS, {"outcome": "lost"}, ["outcome is one of its list"]),
        (TURNS, {"executed": 1}, ["what was acted on stands first"]),
        (TURNS, {"explicit_rating": 1.1}, ["explicit_rating is in [0, 1]"]),
        (SIGNALS, {"gap_before": 300.1}, ["no session has a longer pause in it"]),
        (SIGNALS, {"named_first": True}, ["a session has the name of its first turn"]),
        (SIGNALS, {"without_gap": True}, ["only a session's first turn has no pause before it"]),
        (SIGNALS, {"sentiment": 1.1}, ["sentiment is large enough"]),
        (JUDGEMENTS, {"p_defect": 1.1}, ["p_defect is in [0, 1]"]),
        (JUDGEMENTS, {"p_defect": float("nan")}, ["p_defect is never null"]),
        (JUDGEMENTS, {"at_threshold": False}, ["a turn is defective from the threshold on"]),
        (JUDGEMENTS, {"blamed": False}, ["a component is blamed for defects alone"]),
        (JUDGEMENTS, {"certified_defect": False}, ["what is certified is a defect"]),
        (JUDGEMENTS, {"blame": "weather"}, ["blame is one of its list"]),
        (EXAMPLES, {"example_id": "e0"}, ["example_id is unique"]),
        (EXAMPLES, {"kind": "guess"}, ["kind is one of its list"]),
        (EXAMPLES, {"split": "dev"}, ["split is one of its list"]),
        (EXAMPLES, {"support": 1}, ["every confirmation has its support"]),
        (EXAMPLES, {"agreement": 0.79}, ["agreement is large enough"]),
        (EXAMPLES, {"turns": 1}, ["every user who supports it has a turn in its provenance"]),
        (VIEWS, {"row": "nlu/e0"}, ["row is unique"]),
        (VIEWS, {"prompt_length": 0}, ["prompt_length is large enough"]),
        (VIEWS, {"completion_length": 0}, ["completion_length is large enough"]),
        (VIEWS, {"well_formed": False}, ["every row is well formed"]),
        (DOMAINS, {"defect_share": 0.91}, ["not nearly all turns are defective"]),
        (DOMAINS, {"correction_share": 0.51}, ["not most turns are corrected"]),
        (DOMAINS, {"correction_share": 0.51, "judged": False}, []),
        (DOMAINS, {"defect_shift": 0.251}, ["defects are about as many as in the parent release"]),
        (DOMAINS, {"intent_shift": 0.331}, ["intents are mixed much as in the parent release"]),
        (DOMAINS, {"length_shift": 0.331}, ["utterances are about as long as in the parent release"]),
    ],
)
def test_one_bad_value_fails_its_expectation(suite: Suite, values: dict[str, Any], names: list[str]):
    rows = spoilt(suite, **values)
    if values == {"stage": "label"}:
        rows[-1]["kept"] = rows[-1]["written"] = 0
    assert failed(run(suite, rows)) == names


def test_a_few_odd_times_are_in_every_log():
    rows = [GOOD["turns"][0] | {"turn_id": str(k)} for k in range(100)]
    rows[0]["event_time"] = datetime(1970, 1, 1, tzinfo=UTC)
    assert failed(run(TURNS, rows)) == []
    rows[1]["event_time"] = datetime(2222, 1, 1, tzinfo=UTC)
    gates = run(TURNS, rows)
    with pytest.raises(GateError, match=r"turns: nearly all times are plausible: .* 2 of 100 rows.*2000-01-01.*clocks"):
        enforce(gates)


def test_the_domains_that_fail_are_named_with_their_value():
    rows = [GOOD["domains"][0] | {"domain": d, "defect_share": s} for d, s in (("b", 0.95), ("a", 1.0), ("c", 0.1))]
    gate = next(g for g in run(DOMAINS, rows) if not g["passed"])
    assert gate["failing"] == {"a": 1.0, "b": 0.95} and gate["observed"] == {"unexpected": 2, "rows": 3}
    enforce([gate])


@pytest.mark.parametrize(
    ("expectation", "says"),
    [
        (Expectation("x", "expect_column_values_to_be_unique", {"column": "gone"}), "gate t: x: cannot be evaluated"),
        (Expectation("x", "expect_wonders"), "expect_wonders not found"),
        (Expectation("x", "expect_column_values_to_be_between", {"colum": "domain"}), "gate t: cannot be evaluated"),
        (
            Expectation("x", "expect_column_values_to_be_between", {"column": "domain", "min_value": 1}),
            "gate t: x: cannot be evaluated",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_a_failure(expectation: Expectation, says: str):
    good = Expectation("rows", "expect_table_row_count_to_equal", {"value": Setting("rows.t")})
    suite = Suite("t", DOMAIN_SUMMARY, (good, expectation))
    table = pa.Table.from_pylist(GOOD["domains"], schema=DOMAIN_SUMMARY.schema)
    with pytest.raises(GateError, match=says):
        evaluate(suite, table, {"rows": {"t": 2}})


def test_what_is_left_out_of_the_results_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    import great_expectations as gx

    whole = gx.ExpectationSuite

    def forgetful(name: str, expectations: list[Any]) -> Any:
        return whole(name=name, expectations=expectations[:-1])

    monkeypatch.setattr(gx, "ExpectationSuite", forgetful)
    with pytest.raises(GateError, match="domains: utterances are about as long as in the parent release: was left out"):
        run(DOMAINS, GOOD["domains"])


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)
def test_a_suite_is_well_declared(suite: Suite):
    names = [e.name for e in suite.expectations]
    assert len(set(names)) == len(names)
    assert suite.expectations[0].type.startswith("expect_table_row_count_to_")
    for expectation in suite.expectations:
        assert expectation.advice and expectation.scope in ("whole", "domain")
        assert {v for k, v in expectation.kwargs.items() if k.startswith("column")} <= set(suite.record.names)
        for setting in (v for v in expectation.kwargs.values() if isinstance(v, Setting)):
            section, key = setting.key.split(".")
            assert section == "rows" or key in Config().resolved()[section]


GUARDED = """
import os, sys
os.environ["GX_ANALYTICS_ENABLED"] = "true"
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(9)
    if event in ("tempfile.mkdtemp", "tempfile.mkstemp", "os.mkdir"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(8)
sys.addaudithook(refuse)
import pyarrow
from pipeline.options import Config
from pipeline.gates.evaluate import evaluate
assert "great_expectations" not in sys.modules
from schemas.expectations import DOMAINS
settings = Config().resolved() | {"rows": {"judgements_all": 0}}
print(len(evaluate(DOMAINS, DOMAINS.record.empty(), settings)))
"""


def test_nothing_is_sent_and_nothing_is_left_from_import_to_exit():
    # The whole life of a process, since the library may send as it is imported and as it ends.
    done = subprocess.run([sys.executable, "-c", GUARDED], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")
