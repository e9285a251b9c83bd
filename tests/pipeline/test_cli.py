"""The command end to end, in this process, on the synthetic log."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from synthetic import BAD, CITIES, SETTINGS, afterword, copy, lines, record, records, tree

from features.signals import signals
from pipeline import storage
from pipeline.verify import PROOFS, verify

ROOT = Path(__file__).parents[2]


def manifest(out: Path) -> dict[str, Any]:
    """The manifest of the current release."""
    return json.loads((out / "releases" / (out / "CURRENT").read_text().strip() / "manifest.json").read_text())


def rerun(released: Path, tmp_path: Path, *arguments: str) -> Path:
    """A copy of the released folder, run again from a stage."""
    out = copy(released, tmp_path / "out")
    assert afterword("run", "--out", out, *arguments) == 0
    return out


def test_a_run_ends_with_a_release_that_is_proved(released: Path):
    held = manifest(released)
    folder = released / "releases" / held["release_id"]
    assert len(verify(str(folder))) == len(PROOFS)
    assert {p.name for p in folder.iterdir()} == {
        "manifest.json",
        "README.md",
        "gates.json",
        "croissant.json",
        "nlu",
        "sft",
        "rl",
        "verl",
        "taskset",
        "lineage",
        "dead_letters",
    }
    for view in ("nlu", "sft", "rl"):
        assert [f for f in held["files"] if f.startswith(f"{view}/")] == [
            f"{view}/data/test-00000-of-00001.parquet",
            f"{view}/data/train-00000-of-00001.parquet",
        ]
    assert held["closing"]["ingest"]["dead_lettered"] == len(BAD)
    assert held["closing"]["ingest"]["kept"] == len(records())
    assert held["identity"]["parent"] is None and "shuffle" not in held["identity"]["config"]


def test_the_examples_say_what_their_users_meant(released: Path):
    folder = released / "releases" / manifest(released)["release_id"]
    for row in pq.read_table(folder / "nlu" / "data").to_pylist():
        said = [word for word in row["text"].split() if word in CITIES]
        assert row["support"] >= 2 and len(said) == (row["intent"] == "go")
        assert [s["value"] for s in json.loads(row["slots"])] == said


def test_nothing_that_carries_a_clock_or_a_path_is_in_a_release(released: Path, log: Path):
    for name, data in tree(released / "releases").items():
        assert str(log).encode() not in data and str(released).encode() not in data, name
    run = json.loads(next((released / "runs").glob("*/run.json")).read_text())
    assert set(run["seconds"]) == {"ingest", "signals", "train", "label", "curate", "release"}


def test_no_work_of_a_shuffle_is_left(released: Path):
    assert not [p for p in (released / "stages" / "spill").rglob("*") if p.is_file()]
    assert not list(released.rglob(".tmp-*"))


def test_the_closing_table_and_the_progress_lines(log: Path, released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")
    assert afterword("run", "--out", out, "--from", "label") == 0
    said = capsys.readouterr()
    for word in (
        "turns",
        "sessions",
        "defects",
        "corrections",
        "examples",
        "shards",
        "domain",
        "travel",
        "release",
        "verified",
    ):
        assert word in said.out
    assert "label: started" in said.err and "1,445 rows\n" in said.err and "\r" not in said.err


def test_twice_in_two_folders_is_byte_identical(log: Path, released: Path, tmp_path: Path):
    assert afterword("run", "--input", f"{log}/", *SETTINGS, "--out", tmp_path / "out") == 0
    assert tree(tmp_path / "out" / "releases") == tree(released / "releases")


def test_again_into_the_same_folder_is_the_same_release(log: Path, released: Path, tmp_path: Path):
    out = rerun(released, tmp_path, "--input", str(log), *SETTINGS)
    assert tree(out / "releases") == tree(released / "releases")
    assert len(list((out / "runs").iterdir())) == 2


@pytest.mark.long
@pytest.mark.parametrize("override", ["shuffle.bucket_bytes=20000", "shuffle.mode=native", "workers.threads=1"])
def test_how_rows_are_shuffled_and_by_how_many_threads_does_not_change_a_byte(
    log: Path, released: Path, tmp_path: Path, override: str
):
    out = tmp_path / "out"
    # Small shards, so that their number would follow from the buckets if it could.
    small = ("--set", "release.shard_bytes=4000")
    assert afterword("run", "--input", log, *SETTINGS, "--out", out, "--set", override, *small) == 0
    buckets = list((out / "stages" / "ingest" / "turns").glob("bucket-*"))
    assert not override.startswith("shuffle.bucket") or len(buckets) > 3
    plain = rerun(released, tmp_path / "plain", "--from", "release", *small)
    name = manifest(out)["release_id"]
    assert tree(out / "releases" / name) == tree(plain / "releases" / name)
    assert sum(f.startswith("nlu/data/train") for f in manifest(out)["files"]) > 1


def test_stage_by_stage_is_the_same_as_run(log: Path, released: Path, tmp_path: Path):
    out = tmp_path / "out"
    assert afterword("ingest", "--input", log, "--format", "canonical", "--out", out) == 0
    for stage in ("signals", "train", "label", "curate", "release"):
        assert afterword(stage, "--out", out, *SETTINGS[2:]) == 0
    assert tree(out / "releases") == tree(released / "releases")
    assert (out / "CURRENT").read_text() == (released / "CURRENT").read_text()


def test_another_configuration_is_another_release_beside_the_first(released: Path, tmp_path: Path):
    out = rerun(released, tmp_path, "--from", "curate", *SETTINGS[2:], "--set", "curate.min_users=1")
    old, new = manifest(released), manifest(out)
    assert new["release_id"] != old["release_id"] and new["identity"]["parent"] is None
    assert new["identity"]["models"] == old["identity"]["models"]
    assert new["closing"]["curate"]["kept"] > old["closing"]["curate"]["kept"]
    assert {p.name for p in (out / "releases").iterdir()} == {old["release_id"], new["release_id"]}


def test_no_example_at_all_is_an_empty_release(released: Path, tmp_path: Path):
    out = rerun(
        released, tmp_path, "--from", "curate", "--set", "curate.min_users=999", "--set", "curate.reject_min_users=999"
    )
    assert manifest(out)["closing"]["curate"].get("kept", 0) == 0
    assert not [f for f in manifest(out)["files"] if f.startswith(("nlu", "sft", "rl", "lineage"))]


def test_intervals_chain_and_a_backfill_leaves_current(released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")

    def day(start: str, end: str) -> str:
        capsys.readouterr()
        assert (
            afterword(
                "run",
                "--out",
                out,
                "--from",
                "release",
                "--set",
                f"release.interval_start={start}",
                "--set",
                f"release.interval_end={end}",
            )
            == 0
        )
        return (out / "CURRENT").read_text().strip()

    first = day("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
    second = day("2026-03-02T01:00:00+01:00", "2026-03-03T00:00:00Z")
    assert manifest(out)["identity"]["parent"] == first != second
    assert day("2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z") == second
    assert "backfill" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "COMMAND"),
        (("run",), "--out"),
        (("walk",), "invalid choice"),
        (("run", "--out", "x"), "--input and --format"),
        (("run", "--out", "x", "--input", "y", "--format", "nope"), "there are: canonical, dstc"),
        (("ingest", "--out", "x"), "--input"),
        (("run", "--out", "x", "--from", "lunch"), "invalid choice"),
        (("signals", "--out", "x", "--set", "curate.min_users=0"), "at least 1"),
        (("signals", "--out", "x", "--timezone", "Mars"), "IANA zone"),
        (("signals", "--out", "x", "--config", "none.toml"), "cannot be read"),
        (("signals", "--out", "x[1]"), "without * ? ["),
        (("signals", "--out", "x", "--", "--direct_running_mode=multi_threading"), "loses rows"),
        (("signals", "--out", "x", "--", "--runner=DirectRunner"), "FnApiRunner"),
        (("signals", "--out", "x", "--", "--runner=directrunner"), "FnApiRunner"),
    ],
)
def test_a_wrong_call_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, arguments: tuple[str, ...], says: str
):
    monkeypatch.chdir(tmp_path)
    assert afterword(*arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"", b"{bad\n"])
def test_an_input_of_nothing_ends_with_3_and_leaves_current(released: Path, tmp_path: Path, capsys: Any, data: bytes):
    out = copy(released, tmp_path / "out")
    (tmp_path / "a.jsonl").write_bytes(data)
    assert afterword("run", "--input", tmp_path / "a.jsonl", "--format", "canonical", "--out", out) == 3
    assert "no usable turn" in capsys.readouterr().err
    assert (out / "CURRENT").read_text() == (released / "CURRENT").read_text()
    assert tree(out / "releases") == tree(released / "releases")


def test_too_few_turns_to_train_end_with_3(tmp_path: Path, capsys: Any):
    (tmp_path / "a.jsonl").write_bytes(lines(*(record(turn_id=str(k)) for k in range(5))))
    assert afterword("run", "--input", tmp_path / "a.jsonl", "--format", "canonical", "--out", tmp_path / "out") == 3
    assert "5 turns of 1 users cannot train a model" in capsys.readouterr().err
    assert not (tmp_path / "out" / "CURRENT").exists()


def test_no_input_ends_with_3(tmp_path: Path):
    assert afterword("ingest", "--input", tmp_path / "none", "--format", "canonical", "--out", tmp_path / "out") == 3


def test_verify_proves_the_current_release_or_ends_with_5(released: Path, tmp_path: Path, capsys: Any):
    assert afterword("verify", released) == 0
    assert capsys.readouterr().out.count("verified  ") == len(PROOFS)
    assert afterword("verify", released / "releases" / manifest(released)["release_id"]) == 0
    assert afterword("verify", tmp_path) == 5
    out = copy(released, tmp_path / "out")
    next((out / "releases").glob("*/nlu/data/*")).write_bytes(b"x")
    assert afterword("verify", out) == 5
    assert "nlu/data/" in capsys.readouterr().err


def test_a_release_folder_that_holds_other_bytes_is_not_written_over(released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")
    path = next((out / "releases").glob("*/manifest.json"))
    path.write_bytes(path.read_bytes() + b"\n")
    assert afterword("release", "--out", out) == 4
    assert "holds other bytes" in capsys.readouterr().err and path.read_bytes().endswith(b"\n\n")


def test_a_stage_before_its_time_ends_with_7(released: Path, tmp_path: Path, capsys: Any):
    assert afterword("label", "--out", tmp_path / "new") == 7
    out = copy(released, tmp_path / "out")
    assert afterword("train", "--out", out, "--set", "train.seed=3") == 0
    assert afterword("curate", "--out", out) == 7
    assert "run `afterword label`" in capsys.readouterr().err


def test_a_second_run_on_the_same_folder_ends_with_10(tmp_path: Path, capsys: Any):
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".work.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert afterword("signals", "--out", out) == 10
    assert "another run is at work" in capsys.readouterr().err


def test_another_model_file_than_the_one_trained_ends_with_7(released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")
    (out / "stages" / "train" / "models.json").write_bytes(b"{}")
    assert afterword("label", "--out", out) == 7
    assert "run `afterword train` again" in capsys.readouterr().err


def test_counts_that_do_not_close_end_with_4(
    released: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    out = copy(released, tmp_path / "out")
    monkeypatch.setattr("pipeline.transforms.signals.signals", lambda turns, options: signals(turns.slice(1), options))
    assert afterword("signals", "--out", out) == 4
    assert "do not close" in capsys.readouterr().err


def test_help_and_version_end_with_0_without_beam(capsys: Any):
    assert afterword("--help") == 0 and afterword("--version") == 0
    assert "afterword 0.1.0+" in capsys.readouterr().out


@pytest.mark.long
def test_the_real_calls_twice_are_byte_identical_on_other_buckets_too(letsgo: Path, tmp_path: Path):
    ways = {
        "a": (),
        "b": (),
        "many": ("--set", "shuffle.bucket_bytes=300000", "--set", "shuffle.mode=native", "--set", "workers.threads=3"),
    }
    for name, settings in ways.items():
        out = ("--out", tmp_path / name)
        assert afterword("run", "--input", letsgo.parent, "--format", "dstc", *out, *settings) == 0
    assert tree(tmp_path / "a" / "releases") == tree(tmp_path / "b" / "releases")
    assert tree(tmp_path / "a" / "releases") == tree(tmp_path / "many" / "releases")
    assert manifest(tmp_path / "a")["closing"]["ingest"]["kept"] > 5000


def _without(records: list[dict[str, Any]], keep: int) -> list[dict[str, Any]]:
    return [r | {"interpretations": (r["interpretations"] or [])[:keep] or None, "executed": None} for r in records]


@pytest.mark.parametrize("keep", [0, 1])
def test_a_log_without_an_n_best_is_judged_and_corrected_by_what_users_say_later(tmp_path: Path, keep: int):
    (tmp_path / "a.jsonl").write_bytes(lines(*_without(records(), keep)))
    assert afterword("run", "--input", tmp_path / "a.jsonl", "--out", tmp_path / "out", *SETTINGS) == 0
    held = manifest(tmp_path / "out")
    assert held["counts"]["label"]["kept"] == len(records())
    # With one reading a turn, what rephrases were taken for, the user's own or others', is the only alternative.
    assert (held["counts"]["label"]["candidates"] > 0) == (keep == 1)
    sources = pq.read_table(tmp_path / "out" / "stages" / "label" / "corrections")["source"].to_pylist()
    assert set(sources) <= {"rephrase", "confirmed", "chain"} and bool(sources) == bool(keep)


def test_a_damaged_install_is_not_published_and_the_next_run_mends_it(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    out = copy(released, tmp_path / "out")
    old = (out / "CURRENT").read_text()
    again = ("run", "--out", out, "--from", "curate", *SETTINGS[2:], "--set", "curate.min_users=3")
    write = storage.write_bytes

    def damage(path: str, data: bytes, **rest: Any) -> None:
        write(path, data[:-1] + b"?" if "/releases/" in path and "nlu/data/train" in path else data, **rest)

    monkeypatch.setattr("pipeline.storage.write_bytes", damage)
    assert afterword(*again) == 5
    assert "nlu/data/train" in capsys.readouterr().err
    assert (out / "CURRENT").read_text() == old
    monkeypatch.undo()
    assert afterword(*again) == 0
    assert (out / "CURRENT").read_text() != old


@pytest.mark.parametrize(
    "options", [["--runer=SparkRunner"], ["--runner=Nosuch"], ["--runner=SwitchingDirectRunner"], ["stray"]]
)
def test_what_beam_does_not_know_is_refused(released: Path, options: list[str], capsys: Any):
    assert afterword("signals", "--out", released, "--", *options) == 2
    assert options[0].split("=")[-1] in capsys.readouterr().err


def test_an_output_that_is_a_file_is_an_error_without_a_traceback(tmp_path: Path, log: Path, capsys: Any):
    (tmp_path / "out").write_text("x")
    assert afterword("run", "--input", log, "--out", tmp_path / "out", *SETTINGS) == 1
    assert f"{tmp_path / 'out'}: File exists" in capsys.readouterr().err


def test_a_reader_of_the_output_that_has_gone_ends_it_quietly(released: Path):
    command = f"{sys.executable} -m pipeline.cli verify {released} | head -n 1; echo ${{PIPESTATUS[0]}}"
    shell = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shell.stdout.splitlines()[-1] in ("0", "141") and "Traceback" not in shell.stderr


@pytest.mark.parametrize("victim", ["nlu/data/train", "README.md", "manifest.json", "CURRENT"])
def test_a_crash_while_a_release_is_installed_leaves_the_old_one_and_can_go_on(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
):
    out = copy(released, tmp_path / "out")
    old = (out / "CURRENT").read_text()
    again = ("run", "--out", out, "--from", "curate", *SETTINGS[2:], "--set", "curate.min_users=3")
    replace = os.replace

    def crash(source: Any, target: Any, **rest: Any) -> None:
        where = str(target).split("/releases/")[-1]
        if victim in where and not where.startswith(str(out / "stages")):
            raise KeyboardInterrupt
        replace(source, target, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        assert afterword(*again) == 130
    assert (out / "CURRENT").read_text() == old and afterword("verify", out) == 0
    assert afterword(*again) == 0
    assert (out / "CURRENT").read_text() != old and afterword("verify", out) == 0


def test_a_release_is_not_published_where_a_part_of_its_examples_is_lost(released: Path, tmp_path: Path):
    out = copy(released, tmp_path / "out")
    next((out / "stages" / "curate" / "examples").glob("bucket-*")).unlink()
    assert afterword("release", "--out", out) == 7
    assert (out / "CURRENT").read_text() == (released / "CURRENT").read_text()


def test_a_run_that_fails_leaves_its_stage_and_error(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(b"{bad\n")
    assert afterword("run", "--input", tmp_path / "a.jsonl", "--out", tmp_path / "out", *SETTINGS) == 3
    held = json.loads(next((tmp_path / "out" / "runs").glob("*/run.json")).read_text())
    assert held["result"]["failed"] == "ingest" and "no usable turn" in held["result"]["error"]


@pytest.mark.parametrize("call", [("verify", "x"), ("explain", "t", "--out", "x"), ("simulate", "--out", "x")])
def test_options_of_a_runner_that_nothing_would_read_are_refused(call: tuple[str, ...], capsys: Any):
    assert afterword(*call, "--", "--runner=DataflowRunner") == 2
    said = capsys.readouterr().err
    assert f"{call[0]}: it runs no job and takes no options of a runner after --: --runner=DataflowRunner" in said
