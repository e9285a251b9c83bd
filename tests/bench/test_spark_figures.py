from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bench.spark import Cost, told
from bench.spark_cluster import below


def test_what_grows_with_the_turns_is_told_from_what_stands_once():
    found = told(Cost(12.0, 20.0, 0), Cost(15.0, 29.0, 0), (100_000, 400_000))
    assert found == pytest.approx({"seconds.turn_us": 10, "seconds.once_s": 11, "cpu.turn_us": 30, "cpu.once_s": 17})


def test_a_process_is_found_below_its_parent_by_its_command_line():
    child = subprocess.Popen([sys.executable, "-c", "input()  # a mark of its own"], stdin=subprocess.PIPE)
    try:
        assert [p.pid for p in below([os.getpid()], "a mark of its own")] == [child.pid]
        assert below([child.pid], "another mark") == []
        assert below([child.pid])[0].parent == os.getpid()
    finally:
        child.communicate(b"\n")
