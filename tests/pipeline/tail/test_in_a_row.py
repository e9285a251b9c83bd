"""Whole runs one after the other: what a release says it is made of, proofs, the same bytes, and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_a_row import LABEL, LAST, LATE, OVER, manifests, run, write_days
from synthetic import afterword, copy, tree

from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.release_files import RECORDS
from pipeline.tail.files import RECENT
from pipeline.tail.proof import prove_tail
from pipeline.verify import PROOFS, verify


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_days(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def row(logs: list[Path], released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder after two days. Copy it before changing it."""
    folder = tmp_path_factory.mktemp("row")
    (folder / "labels.jsonl").write_text(json.dumps(LABEL | {"turn_id": f"{OVER}-0"}) + "\n")
    assert run(logs[0], 0, folder / "out", released, "--gold", str(folder / "labels.jsonl")) == 0
    assert run(logs[1], 1, folder / "out", released) == 0
    return folder / "out"


def turns_behind(out: Path, manifest: dict[str, Any]) -> set[str]:
    rows = pq.read_table(out / "releases" / manifest["release_id"] / "lineage" / "data").to_pylist()
    return {name for row in rows for name in row["provenance"]["turn_ids"]}


def test_a_release_says_what_it_is_made_of(row: Path):
    first, second = manifests(row)
    assert first["made_of"]["release"] is None and second["made_of"]["release"] == first["release_id"]
    assert second["identity"]["parent"] == first["release_id"]
    held = {path: facts["sha256"] for path, facts in first["files"].items() if path.startswith("tail")}
    assert {f["uri"]: f["sha256"] for f in second["identity"]["taken"]["files"]} == held
    # Two turns of a session over midnight came with the first day; the second day's log has the next day's turns too.
    told, before = second["made_of"], first["made_of"]
    assert before["left_open"] == before["handed_on"]["open"] == told["taken_over"]["open"] == 2
    assert before["handed_on"]["labels"] == told["taken_over"]["labels"] == 1
    assert told["late"] == {"turns": 1, "alone": 0}
    assert told["revised"] == {"turns": 5, "sessions": 1, "of": {first["release_id"]: 5}}
    assert told["judged_before"] == told["taken_over"]["recent"] - 5 and told["left_open"] == 6
    counts = second["closing"]["ingest"]
    assert counts["in"] == 437 + 2 + told["taken_over"]["recent"]
    assert counts["in"] == counts["kept"] + counts["judged_before"] + counts["left_open"]


def test_a_session_over_midnight_is_judged_once_and_one_that_a_late_turn_joined_anew(row: Path):
    first, second = (turns_behind(row, m) for m in manifests(row))
    assert not any(name.startswith((OVER, LAST)) for name in first)
    assert {f"{OVER}-{k}" for k in range(6)} & second and not any(name.startswith(LAST) for name in second)
    assert any(name.startswith(LATE) for name in second)
    days = row / "stages" / "ingest"
    judged = [r["turn_id"] for f in (days / "turns").glob("*.parquet") for r in pq.read_table(f).to_pylist()]
    assert {f"{u}-{k}" for u in (OVER, LATE) for k in range(6)} <= set(judged)
    labels = [r["turn_id"] for f in (days / "gold").glob("*.parquet") for r in pq.read_table(f).to_pylist()]
    assert f"{OVER}-0" in labels


def test_both_are_proved_and_their_cards_tell(row: Path):
    first, second = manifests(row)
    for manifest in (first, second):
        folder = row / "releases" / manifest["release_id"]
        assert len(verify(str(folder))) == len(PROOFS)
        assert "tail/" not in (folder / "README.md").read_text().split("---")[1]
    card = (row / "releases" / second["release_id"] / "README.md").read_text()
    assert f"turns judged anew that release {first['release_id'][:12]} judged before | 5 |" in card
    assert f"turns of open sessions, from release {first['release_id'][:12]} | 2 |" in card
    events = [json.loads(line) for path in (row / "runs").glob("*/openlineage.jsonl") for line in path.open()]
    read = {d["name"].rpartition("/releases/")[2] for e in events for d in e["inputs"]}
    assert f"{first['release_id']}/tail" in read


@pytest.mark.long
def test_a_day_once_more_takes_the_same_tail_and_gives_the_same_bytes(
    row: Path, logs: list[Path], released: Path, tmp_path: Path
):
    out = copy(row, tmp_path / "out")
    workers = ("--", "--direct_num_workers=2", "--direct_running_mode=multi_processing")
    for more in ((), ("--set", "workers.threads=1", "--set", "shuffle.bucket_bytes=20000", *workers)):
        assert run(logs[1], 1, out, released, *more) == 0
        assert tree(out / "releases") == tree(row / "releases")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["made_of"].update(left_open=1), "made_of says"),
        (lambda m: m["identity"]["config"]["ingest"].update(lateness=60.0), "is not recent"),
        (lambda m: m["identity"]["config"]["signals"].update(session_gap=10.0), "is not open"),
    ],
)
def test_a_tail_that_is_not_what_the_manifest_says_is_found(row: Path, change: Any, words: str):
    manifest = json.loads(json.dumps(manifests(row)[0]))
    folder = row / "releases" / manifest["release_id"]

    def read(path: str) -> pa.Table:
        return pq.read_table(folder / path).cast(RECORDS[path.split("/")[0]].schema)

    assert "are handed to the next run" in prove_tail(manifest, read, pa.array(["x"]))
    with pytest.raises(VerifyError, match="behind an example"):
        prove_tail(manifest, read, pa.array([f"{OVER}-0"]))
    change(manifest)
    with pytest.raises(VerifyError, match=words):
        prove_tail(manifest, read, pa.array([], pa.string()))


def test_a_release_that_is_handed_on_without_its_tail_is_proved_and_says_so(
    row: Path, logs: list[Path], released: Path, tmp_path: Path, capsys: Any
):
    out = copy(row, tmp_path / "out")
    first = manifests(out)[0]
    folder = out / "releases" / first["release_id"]
    shutil.rmtree(folder / "tail_gold")
    # Labels without their turns are no hand-over.
    assert afterword("verify", folder) == 5 and "missing" in capsys.readouterr().err
    shutil.rmtree(folder / "tail")
    assert afterword("verify", folder) == 0
    assert capsys.readouterr().out.count("the tail was withheld") == 2
    with pytest.raises(VerifyError, match="missing"):
        verify(str(folder))
    # Nothing can be taken over from it.
    assert run(logs[1], 1, out, released) == 5
    told = capsys.readouterr().err
    assert first["release_id"] in told and "tail" in told


def test_explain_says_that_a_turn_waits_for_the_next_run(row: Path, capsys: Any):
    assert afterword("explain", f"{LAST}-0", "--out", row) == 3
    assert "still open at the end" in capsys.readouterr().err


def test_explain_says_by_which_run_a_turn_was_judged(row: Path, tmp_path: Path, capsys: Any):
    """Of a turn that stands in the tables for late events alone, as with a lateness of more than the interval."""
    out = copy(row, tmp_path / "out")
    path = next((out / "stages" / "ingest" / RECENT).glob("bucket-*.parquet"))
    turns = pq.read_table(path)
    names = pa.array([f"before-{n}" for n in range(turns.num_rows)])
    turns = turns.set_column(turns.column_names.index("turn_id"), "turn_id", names)
    judged = pa.repeat("of-the-day-before", turns.num_rows)
    storage.rewrite_table(str(path), turns.set_column(turns.column_names.index("judged_by"), "judged_by", judged))
    assert afterword("explain", "before-0", "--out", out) == 3
    said = capsys.readouterr().err
    assert "by an earlier run and is as it was" in said and "(release of-the-day-before)" in said


def test_sessions_are_those_that_ingest_divided_the_turns_by(row: Path, released: Path, tmp_path: Path, capsys: Any):
    out = copy(row, tmp_path / "out")
    assert run(None, 1, out, released, "--from", "signals", "--set", "signals.session_gap=600") == 7
    assert "the log was read with signals.session_gap = 300.0, not 600" in capsys.readouterr().err
