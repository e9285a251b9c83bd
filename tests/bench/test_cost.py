from __future__ import annotations

from typing import Any

import pytest

from bench.cost import coefficients, memory, middle
from pipeline.stages import STAGES


def run(turns: int, cpu: float, peak: float = 0.0, buckets: int = 1) -> dict[str, Any]:
    stage = {"cpu": cpu, "seconds": cpu / 2, "shuffled": 3 * turns, "stored": 5 * turns}
    return {"turns": turns, "buckets": buckets, "peak": peak, "stages": {name: dict(stage) for name in STAGES}}


def test_what_grows_with_the_turns_is_a_turns_cost_and_the_rest_stands_once():
    told = coefficients(run(100_000, 5.0), run(400_000, 11.0))
    assert set(told) == set(STAGES)
    assert told["label"] == pytest.approx({"turn_us": 20.0, "once_s": 3.0, "shuffled": 3.0, "stored": 5.0})


def test_noise_by_which_more_turns_cost_less_gives_no_cost_below_nothing():
    assert coefficients(run(100_000, 5.0), run(400_000, 4.0))["train"]["turn_us"] == 0.0


def test_of_repetitions_each_figure_in_the_middle_counts():
    told = middle([run(9, 5.0, 30.0), run(9, 1.0, 10.0), run(9, 2.0, 70.0)])
    assert told["peak"] == 30.0
    curate = {"cpu": 2.0, "seconds": 1.0, "shuffled": 27, "stored": 45}
    assert told["stages"]["curate"] == curate | {"cpu.each": [5.0, 1.0, 2.0]}
    assert middle([run(9, 5.0, 30.0)])["stages"]["signals"]["cpu"] == 5.0


def test_memory_of_a_turn_is_told_by_buckets_of_two_sizes():
    told = memory(run(1_000, 0.0, peak=700.0, buckets=100), run(1_000, 0.0, peak=1_060.0, buckets=10))
    assert told == {"turn": 2.0, "worker": 660.0}


def test_a_log_that_is_one_bucket_either_way_tells_no_memory():
    with pytest.raises(SystemExit, match="more --turns"):
        memory(run(1_000, 0.0), run(1_000, 0.0))
