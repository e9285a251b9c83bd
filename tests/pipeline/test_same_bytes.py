"""The same input, configuration and code give the same release, however the work is cut and whoever does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from repairs import SETTINGS, write_log
from synthetic import afterword, tree

WAYS = {
    "two workers, native": (
        ("--set", "shuffle.mode=native"),
        ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    ),
    "two workers, spill, small buckets": (
        ("--set", "shuffle.mode=spill", "--set", "shuffle.bucket_bytes=60000"),
        ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    ),
    "one worker, native, other buckets, three threads": (
        ("--set", "shuffle.mode=native", "--set", "shuffle.bucket_bytes=150000", "--set", "workers.threads=3"),
        (),
    ),
}


@pytest.mark.long
def test_workers_buckets_and_shuffles_do_not_change_a_byte(repaired: Path, tmp_path: Path):
    (tmp_path / "log").mkdir()
    log = write_log(tmp_path / "log")
    wanted = tree(repaired / "releases")
    assert any("/lineage/" in name for name in wanted)
    for name, (settings, runner) in WAYS.items():
        out = tmp_path / name.replace(" ", "-").replace(",", "")
        assert afterword("run", "--input", log, *SETTINGS, *settings, "--out", out, "--", *runner) == 0, name
        assert tree(out / "releases") == wanted, name
