"""Options that keep their views are Beam's own in all else."""

from __future__ import annotations

import copy
import pickle

import pytest
from apache_beam.options.pipeline_options import DirectOptions, StandardOptions, WorkerOptions

from pipeline.jobs.beam_options import Options

FLAGS = ["--runner=FnApiRunner", "--direct_num_workers=3"]


def test_a_view_is_made_once_and_tells_of_what_was_set_in_any():
    options = Options(FLAGS)
    direct = options.view_as(DirectOptions)
    assert options.view_as(DirectOptions) is direct and direct.direct_num_workers == 3
    direct.direct_num_workers = 4
    assert options.get_all_options()["direct_num_workers"] == 4
    options.view_as(StandardOptions).view_as(DirectOptions).direct_num_workers = 5
    assert options.view_as(DirectOptions).direct_num_workers == 5


@pytest.mark.parametrize("more", [[], ["--impersonate_service_account=a@b"]])
def test_what_is_copied_has_values_of_its_own(more: list[str]):
    options = Options([*FLAGS, *more])
    assert options.view_as(DirectOptions).direct_num_workers == 3
    for one in (copy.deepcopy(options), pickle.loads(pickle.dumps(options))):
        assert one.view_as(DirectOptions).direct_num_workers == 3
        one.view_as(DirectOptions).direct_num_workers = 7
        assert one.get_all_options()["direct_num_workers"] == 7
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert options.view_as(WorkerOptions).max_num_workers is None
