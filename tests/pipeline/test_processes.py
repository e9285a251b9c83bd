"""Processes beside a command: the results of threads, errors as they were raised, and none outlives its command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# A command of its own: what is forked must not hold the threads of a test run.
PROLOGUE = """
import os, signal, sys, time
import apache_beam as beam
import pyarrow as pa
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from pipeline import processes, tally
from pipeline.errors import InputError
from pipeline.transforms.threads import SideBySide

@beam.typehints.with_output_types(pa.Table)
class Squares(SideBySide):
    def load(self):
        self.loaded_in = os.getpid()

    def work(self, number):
        assert self.loaded_in == os.getpid()
        tally.add(number)
        if number < 0:
            raise InputError(f"{number}: too small")
        if number == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        whole = pa.table({"n": list(range(1000)), "pid": [os.getpid()] * 1000})
        return [whole.slice(number, 1)]

def run(numbers):
    import tests_sink
    with Pipeline(runner="FnApiRunner") as pipeline:
        _ = pipeline | beam.Create(numbers) | beam.ParDo(Squares(2)) | beam.Map(tests_sink.keep)
    return tests_sink.kept

processes.begin(int(sys.argv[1]))
"""
SINK = "kept = []\ndef keep(table):\n    kept.append(table.to_pylist()[0] | {'bytes': table.nbytes})\n"


def python(folder: Path, text: str, workers: int = 2, wait: bool = True) -> subprocess.Popen[str]:
    (folder / "tests_sink.py").write_text(SINK)
    script = folder / "command.py"
    script.write_text(PROLOGUE + text)
    path = os.pathsep.join([str(folder), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    begun = subprocess.Popen(
        [sys.executable, str(script), str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    if wait:
        begun.said, begun.wrong = begun.communicate(timeout=120)
    return begun


def test_work_is_done_in_processes_and_counted_here(tmp_path: Path):
    text = "for row in run(range(10)): print(row['n'], row['pid'] != os.getpid())\nprint(tally.rows())"
    done = python(tmp_path, text)
    assert done.returncode == 0, done.wrong
    assert done.said.split("\n")[:-1] == [f"{n} True" for n in range(10)] + ["45"]


def test_a_slice_travels_without_what_it_was_cut_from(tmp_path: Path):
    done = python(tmp_path, "print(max(row['bytes'] for row in run(range(10))))")
    assert done.returncode == 0, done.wrong
    assert int(done.said) < 100


def test_with_one_there_are_none(tmp_path: Path):
    done = python(tmp_path, "print(processes.number(), {row['pid'] for row in run(range(10))} == {os.getpid()})", 1)
    assert (done.returncode, done.said) == (0, "0 True\n"), done.wrong


def test_what_a_worker_raises_is_raised_here(tmp_path: Path):
    text = "try:\n    run([1, -2])\nexcept InputError as error:\n    print(type(error).__name__, str(error)[:13])"
    done = python(tmp_path, text)
    assert (done.returncode, done.said) == (0, "InputError -2: too small\n"), done.wrong


def test_a_lost_worker_ends_the_run_with_words(tmp_path: Path):
    text = "try:\n    run([1, 13, 2, 3])\nexcept Exception as error:\n    print(error)"
    done = python(tmp_path, text)
    assert done.returncode == 0, done.wrong
    assert "a process of the local runner was lost" in done.said


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_none_outlives_its_command(tmp_path: Path, how: int):
    text = "print(*processes._pool._processes, flush=True)\ntime.sleep(60)"
    begun = python(tmp_path, text, wait=False)
    pids = [int(pid) for pid in begun.stdout.readline().split()]
    assert len(pids) == 2
    begun.send_signal(how)
    begun.communicate(timeout=30)
    until = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_beside_a_thread_there_are_none(tmp_path: Path):
    thread = "import threading\nprocesses.end()\nthreading.Thread(target=time.sleep, args=(2,)).start()"
    done = python(tmp_path, f"{thread}\nprocesses.begin(2)\nprint(processes.number())")
    assert (done.returncode, done.said) == (0, "0\n"), done.wrong


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not asked for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
