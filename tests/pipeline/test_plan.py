"""What a run would cost, told before it starts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import afterword, lines, record, records

from pipeline import cost as costs
from pipeline import plan as plans
from pipeline import sizing
from pipeline.buckets import bucket_count, stored_bytes
from pipeline.config import load
from pipeline.cost import StageCost, estimate
from pipeline.errors import BudgetError, ConfigError
from pipeline.inputs import find
from pipeline.plan import Budget, afford, plan

PRICE = ("--price-vcpu-hour", "2")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round figures in the place of the measured ones."""
    held = {"ingest": StageCost(100.0, 10.0, 500.0, 50.0), "train": StageCost(20.0, 40.0, 0.0, 5.0)}
    monkeypatch.setitem(costs._COSTS, "local", held)
    monkeypatch.setitem(costs._COSTS, "dataflow", held)
    monkeypatch.setattr(costs, "LOGGED_BYTES", 400.0)
    for runner, turn, worker in (("local", 1_000.0, 500_000), ("dataflow", 2_000.0, 300_000)):
        monkeypatch.setitem(costs.TURN_MEMORY, runner, turn)
        monkeypatch.setitem(costs.WORKER_MEMORY, runner, worker)


def varied(n: int) -> list[dict[str, Any]]:
    """Turns of unlike lengths, so that the first of a file are not as all."""
    words = ["play some jazz", "what will the weather be like in the mountains tomorrow afternoon", "stop"]
    return [record(turn_id=f"t{k}", user_id=f"u{k % 97}", utterance=f"{words[k % 3]} {k * 7919}") for k in range(n)]


@pytest.mark.parametrize("form", ["jsonl", "gz", "parquet"])
def test_the_turns_are_told_within_a_factor_of_two(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sizing, "SAMPLED_BYTES", 16 << 10)
    made = varied(30_000)
    for k, part in enumerate((made[:500], made[500:20_000], made[20_000:])):
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist(part), tmp_path / f"{k}.parquet")
        elif form == "gz":
            (tmp_path / f"{k}.jsonl.gz").write_bytes(gzip.compress(lines(*part)))
        else:
            (tmp_path / f"{k}.jsonl").write_bytes(lines(*part))
    size = sizing.measure(find(str(tmp_path), (".jsonl", ".parquet")), "canonical", 1 << 20)
    assert len(made) / 2 <= size.turns <= len(made) * 2
    assert form != "parquet" or size.turns == len(made)
    assert 50 < size.turn_bytes < 1_000 and size.files == 3
    assert size.bytes == sum(p.stat().st_size for p in tmp_path.iterdir())


def test_real_calls_of_several_turns_a_line(letsgo: Path):
    size = sizing.measure(find(str(letsgo), (".jsonl",)), "dstc", 64 << 20)
    from pipeline.readers import reader

    with gzip.open(letsgo) as stream:
        counted = sum(b.turns.num_rows for b in reader("dstc").read(stream, "x"))
    assert counted / 2 <= size.turns <= counted * 2


def test_the_buckets_are_those_of_stage_ingest(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(lines(*varied(2_000)))
    pq.write_table(pa.Table.from_pylist(varied(5_000)), tmp_path / "b.parquet")
    found = find(str(tmp_path), (".jsonl", ".parquet"))
    counted = bucket_count([(uri, stored_bytes(path, n)) for path, uri, n in found.files], 100_000)
    assert sizing.measure(found, "canonical", 100_000).buckets == counted > 5


def test_a_run_cuts_what_was_planned(released: Path, log: Path):
    told = plan(str(log), "canonical", load(None, []), Budget())
    facts = json.loads((released / "stages" / "ingest" / "stage.json").read_text())["facts"]
    assert told["buckets"] == facts["buckets"]
    assert facts["kept"] / 2 <= told["turns"] <= facts["kept"] * 2


def test_files_of_nothing_and_of_rubbish_are_no_turns(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "c.parquet").write_bytes(b"no parquet")
    told = plan(str(tmp_path), "canonical", load(None, []), Budget())
    assert told["turns"] == 0 and "is --format right" in told["notes"][0]


def test_an_estimate_by_value(figures: None):
    found = estimate(1_000_000, 4, "local", turn_bytes=800.0, train_rows=10_000, threads=2)
    # Twice the size of a turn: twice the bytes, and twice the work of ingest. Half the rows to fit: half of the fit.
    assert found.stages == {
        "ingest": {"cpu_seconds": 210.0, "shuffled": 1_000_000_000, "stored": 100_000_000},
        "train": {"cpu_seconds": 40.0, "shuffled": 0, "stored": 10_000_000},
    }
    assert found.vcpu_hours == pytest.approx(250 / 3600)
    # On the local runner the command with its processes, elsewhere one process.
    assert found.worker_bytes == 500_000 + 1_000 * 2 * 2 * 250_000
    assert estimate(1_000_000, 4, "dataflow").worker_bytes == 300_000 + 2_000 * 250_000


def test_workers_share_what_goes_by_turns_as_far_as_there_are_buckets(figures: None):
    one, four, many = (estimate(1_000_000, 4, "dataflow", workers=n) for n in (1, 4, 100))
    starting = 4 * 3 / 60  # of four jobs, three minutes each
    assert one.hours == pytest.approx((50 + 120) / 3600 / 0.7 + starting)
    assert four.hours == many.hours == pytest.approx((50 + 30) / 3600 / 0.7 + starting)
    assert four.vcpu_hours - one.vcpu_hours == pytest.approx(3 * starting)
    assert estimate(1_000_000, 4, "dataflow", job_minutes=0.0).hours == pytest.approx(170 / 3600 / 0.7)


def test_given_models_cost_no_fit(figures: None):
    found = estimate(1_000_000, 4, "dataflow", train_rows=0)
    assert found.stages["train"] == {"cpu_seconds": 0.0, "shuffled": 0, "stored": 0}
    assert found.hours == pytest.approx(110 / 3600 / 0.7 + 3 / 60)


def test_a_day_in_a_row_has_no_fit_and_says_what_is_not_in_it(log: Path):
    days = ["models.file='models.json'", "ingest.incremental=true"]
    days += ["release.interval_start='2026-03-01T00:00:00Z'", "release.interval_end='2026-03-02T00:00:00Z'"]
    told = plan(str(log), "canonical", load(None, days), Budget())
    assert told["stages"]["train"]["cpu_seconds"] == 0
    assert "taken over from the run before are not in it" in told["notes"][0]


def test_spark_starts_its_workers_and_takes_more_of_a_turn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(costs, "ENGINE_ONCE_S", {"dataflow": 0.0, "spark": 7.0})
    monkeypatch.setattr(costs, "ENGINE_WORKER_S", {"dataflow": 0.0, "spark": 3.0})

    def beside(turns: int, workers: int) -> tuple[float, float]:
        spark, other = (
            estimate(turns, 4, engine, job_minutes=0.0, workers=workers) for engine in ("spark", "dataflow")
        )
        return spark.vcpu_hours - other.vcpu_hours, spark.hours - other.hours

    assert beside(0, 1) == pytest.approx((10 / 3600 / 0.7,) * 2)
    # Workers start side by side.
    assert beside(0, 4) == pytest.approx((19 / 3600 / 0.7, 10 / 3600 / 0.7))
    turns = sum(cost.turn_us for cost in costs.NATIVE.values())
    more = (costs.ENGINE_TURN["spark"] - 1) * turns / 3600 / 0.7
    assert beside(1_000_000, 1)[0] - beside(0, 1)[0] == pytest.approx(more)


def test_a_cost_by_value(figures: None):
    found = estimate(1_000_000, 4, "local")
    hours = 170 / 3600
    gib = found.worker_bytes / 2**30
    assert plans.cost(found, Budget()) is None
    assert plans.cost(found, Budget(vcpu_hour=3.6)) == pytest.approx(0.17, abs=1e-6)
    dear = Budget(vcpu_hour=3.6, gib_hour=1.0, shuffle_gib=2.0)
    assert plans.cost(found, dear) == pytest.approx(0.17 + hours * gib + 2 * 5e8 / 2**30, abs=1e-6)


def test_what_costs_more_than_it_may_is_refused_and_what_costs_as_much_is_not():
    told = {"input": "x", "turns": 5, "files": 1, "vcpu_hours": 1.0, "cost": 2.0, "max_cost": 2.0}
    afford(told)
    afford(told | {"max_cost": None, "cost": None})
    with pytest.raises(BudgetError, match=r"a cost of 2\.00; --max-cost 1\.99 is allowed"):
        afford(told | {"max_cost": 1.99})


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (Budget(max_cost=1.0), "--price-vcpu-hour is wanted"),
        (Budget(vcpu_hour=-1.0), "--price-vcpu-hour -1.0"),
        (Budget(max_cost=float("nan"), vcpu_hour=1.0), "--max-cost nan"),
        (Budget(workers=0), "--workers 0"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(log: Path, budget: Budget, says: str):
    with pytest.raises(ConfigError, match=says):
        plan(str(log), "canonical", load(None, []), budget)


def test_workers_without_a_bucket_are_told(log: Path):
    told = plan(str(log), "canonical", load(None, []), Budget(workers=64))
    assert f"{64 - told['buckets']} would have nothing to do" in told["notes"][0]


def test_the_command_prints_text_or_json_and_refuses_with_9(log: Path, tmp_path: Path, capsys: Any):
    call = ("plan", "--input", log, "--format", "canonical")
    assert afterword(*call) == 0
    said = capsys.readouterr().out
    assert "vCPU-hours" in said and "give --price-vcpu-hour" in said
    assert afterword(*call, "--json", "--runner", "spark", "--workers", "3", *PRICE) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runner"] == "spark" and told["workers"] == 3 and told["cost"] > 0
    assert set(told["stages"]) == {"ingest", "signals", "train", "label", "curate", "release"}
    assert told["shuffled_bytes"] == sum(s["shuffled"] for s in told["stages"].values()) > 0
    assert afterword(*call, "--json", "--workers", "0") == 2
    # As the run is called, word for word.
    there = ("--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://b/t")
    there += ("--sdk_container_image=i", "--max_num_workers=5")
    capsys.readouterr()
    assert afterword(*call, "--out", tmp_path / "out", "--json", "--", *there) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runner"] == "dataflow" and told["workers"] == 5 and told["vcpu_hours"] > 12 * 5 * 3 / 60
    assert afterword(*call, "--job-minutes", "-1") == 2
    assert afterword(*call, *PRICE, "--max-cost", "0") == 9
    assert "Nothing was begun" in capsys.readouterr().err
    assert afterword(*call, "--max-cost", "5") == 2


def test_a_run_that_would_cost_too_much_begins_nothing(log: Path, tmp_path: Path, capsys: Any):
    out = tmp_path / "out"
    call = ("run", "--input", log, "--format", "canonical", "--out", out)
    assert afterword(*call, *PRICE, "--max-cost", "0.0000001") == 9
    assert afterword("ingest", *call[1:], *PRICE, "--max-cost", "0.0000001") == 9
    assert not out.exists()
    assert afterword("run", "--out", out, "--from", "label", *PRICE, "--max-cost", "1") == 2


def test_planned_turns_are_those_of_records(log: Path):
    told = plan(str(log), "canonical", load(None, []), Budget())
    assert told["turns"] == pytest.approx(len(records()), rel=0.1)
