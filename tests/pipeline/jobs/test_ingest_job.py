from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import BAD, lines, record

from pipeline.buckets import bucket_count, stored_bytes
from pipeline.config import load
from pipeline.errors import GateError, InputError
from pipeline.gates.counts import by_outcome, closes
from pipeline.inputs import find
from pipeline.jobs import ingest
from pipeline.jobs.context import Context
from pipeline.progress import Progress
from pipeline.transforms.counts import add_up, counts
from pipeline.workspace import Workspace
from schemas import DEAD_LETTER, TURN, Reason

SUFFIXES = (".jsonl", ".parquet")


def run(folder: Path, out: Path, *overrides: str) -> tuple[list[dict[str, Any]], dict[str, int], str]:
    """Ingest a folder: the turns, the counts, and what the person was told."""
    said = io.StringIO()
    context = Context(Workspace(str(out)), load(None, list(overrides)), progress=Progress(said))
    ingest.run(context, str(folder), "canonical")
    rows = context.workspace.read("ingest", "turns", TURN).to_pylist()
    return rows, by_outcome(context.workspace.counts("ingest")), said.getvalue()


def write(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


def test_replays_are_superseded_and_the_counts_close(tmp_path: Path):
    early, late = "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"
    folder = write(
        tmp_path / "in",
        a_jsonl=lines(record(turn_id="1", utterance="late", received_time=late), record(turn_id="2", utterance="only")),
        b_jsonl=lines(
            *(record(turn_id="1", utterance="early", received_time=early) for _ in range(11)),
            record(turn_id="1", utterance="no time"),
            record(turn_id="2", user_id="other", utterance="moved"),
        ),
    )
    rows, outcomes, _ = run(folder, tmp_path / "out")
    assert {(r["turn_id"], r["subject_id"], r["utterance"]) for r in rows} == {
        ("1", "u", "late"),
        ("2", "other", "moved"),
    }
    assert (outcomes["in"], outcomes["kept"], outcomes["superseded"]) == (15, 2, 13)


def test_whole_subjects_lie_together_in_the_total_order_however_many_buckets(tmp_path: Path):
    rows = [
        record(turn_id=f"{u}-{k}", user_id=f"u{u}", event_time=f"2026-03-01T09:{59 - k:02d}:00Z")
        for u in range(9)
        for k in range(4)
    ]
    folder = write(tmp_path / "in", a_jsonl=lines(*rows[::2]), b_jsonl=lines(*rows[1::2]))
    seen = {}
    for size in (1 << 26, 300):
        got, _, _ = run(folder, tmp_path / f"out{size}", f"shuffle.bucket_bytes={size}")
        key = [(r["subject_id"], r["event_time"], r["sequence"], r["turn_id"]) for r in got]
        assert [k for k in key if k[0] == "u3"] == sorted(k for k in key if k[0] == "u3")
        seen[size] = sorted(key)
        files = list((tmp_path / f"out{size}" / "stages" / "ingest" / "turns").glob("bucket-*"))
        assert (len(files) == 1) == (size > 300)
    assert seen[1 << 26] == seen[300] and len(seen[300]) == 36


def test_dead_letters_are_listed_counted_by_reason_and_told(tmp_path: Path):
    folder = write(tmp_path / "in", a_jsonl=lines(record()) + b"".join(BAD), b_jsonl_gz=b"no gzip")
    rows, outcomes, said = run(folder, tmp_path / "out")
    # Without an ontology every label is known.
    wanted = [str(reason) for reason in Reason if reason != Reason.UNKNOWN_LABEL]
    reasons = {k.removeprefix("dead_letter."): n for k, n in outcomes.items() if k.startswith("dead_letter.")}
    assert reasons == dict.fromkeys(wanted, 1) | {str(Reason.INVALID_FIELD): 2}
    assert (len(rows), outcomes["in"], outcomes["dead_lettered"]) == (1, 11, 10)
    assert all(f" dead letter(s): {reason} (" in said for reason in wanted)
    files = (tmp_path / "out" / "stages" / "ingest" / "dead_letters").glob("*.parquet")
    held = pa.concat_tables([pa.parquet.read_table(f) for f in files])
    assert held.num_rows == 10 and held.schema.names == list(DEAD_LETTER.names)


def test_a_file_that_cannot_be_read_does_not_stop_the_others_and_is_named_by_its_bytes(tmp_path: Path):
    packed = gzip.compress(lines(*(record(turn_id=str(k)) for k in range(50))))
    folder = write(tmp_path / "in", a_jsonl_gz=packed[:-20], b_jsonl=lines(record(turn_id="b")))
    rows, _, _ = run(folder, tmp_path / "out")
    assert "b" in {r["turn_id"] for r in rows}
    facts = json.loads((tmp_path / "out" / "stages" / "ingest" / "stage.json").read_text())["facts"]
    assert [i["uri"] for i in facts["inputs"]] == ["a.jsonl.gz", "b.jsonl"]
    assert facts["inputs"][0]["sha256"] == hashlib.sha256(packed[:-20]).hexdigest()


@pytest.mark.parametrize("data", [b"", b"\n\n", b"{bad\n", lines(record(user_id=None))])
def test_an_input_without_a_usable_turn_is_refused_and_leaves_no_whole_stage(tmp_path: Path, data: bytes):
    folder = write(tmp_path / "in", a_jsonl=data)
    with pytest.raises(InputError, match="no usable turn") as error:
        run(folder, tmp_path / "out")
    assert error.value.exit_code == 3 and "--format canonical" in str(error.value)
    assert not (tmp_path / "out" / "stages" / "ingest" / "stage.json").exists()


def test_files_that_the_reader_does_not_read_are_told(tmp_path: Path):
    folder = write(tmp_path / "in", a_jsonl=lines(record()), b_csv=b"x", c_txt_gz=b"x")
    said = run(folder, tmp_path / "out")[2]
    assert "left out 2 file(s) that are hidden or that canonical does not read: b.csv, c.txt.gz" in said


@pytest.mark.parametrize("name", ["_temporary/0/a.jsonl", "day/.a.jsonl", "_a.parquet", ".hive/a.jsonl.gz"])
def test_what_is_hidden_in_a_folder_is_left_out_and_counted(tmp_path: Path, name: str):
    for file in (name, "_day=1/b.jsonl"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(lines(record()))
    for pattern in (tmp_path, tmp_path / "**"):
        found = find(str(pattern), SUFFIXES)
        assert [uri for _, uri, _ in found.files] == ["_day=1/b.jsonl"] and found.skipped == [name]
    # Who names it means it.
    assert len(find(str(tmp_path / name), SUFFIXES).files) == 1


def test_a_glob_may_ask_for_what_is_hidden(tmp_path: Path):
    folder = write(tmp_path / "_in", a_jsonl=lines(record()))
    (folder / "_b.jsonl").write_bytes(lines(record()))
    assert [uri for _, uri, _ in find(f"{folder}/*.jsonl", SUFFIXES).files] == ["a.jsonl"]
    assert [uri for _, uri, _ in find(f"{folder}/_*.jsonl", SUFFIXES).files] == ["_b.jsonl"]


def test_no_file_to_read_says_what_there_is_and_what_is_wanted(tmp_path: Path):
    with pytest.raises(InputError, match=r"it holds b\.csv\. Wanted: \*\.jsonl"):
        find(str(write(tmp_path / "in", b_csv=b"x")), SUFFIXES)
    with pytest.raises(InputError, match="no file to read"):
        find(str(tmp_path / "none"), SUFFIXES)


def test_an_output_folder_inside_the_input_is_not_read(tmp_path: Path):
    folder = write(tmp_path / "in", a_jsonl=lines(record()))
    for _ in range(2):
        rows, outcomes, said = run(folder, folder / "out")
        assert (len(rows), outcomes["in"]) == (1, 1) and "left out" not in said


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("x.jsonl", "day-1/a.jsonl.gz", "day-2/A.JSONL", "day-2/part.jsonl/p.parquet", "other"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("{}", ["day-1/a.jsonl.gz", "day-2/A.JSONL", "day-2/part.jsonl/p.parquet", "x.jsonl"]),
        ("{}/", ["day-1/a.jsonl.gz", "day-2/A.JSONL", "day-2/part.jsonl/p.parquet", "x.jsonl"]),
        ("{}/day-2", ["A.JSONL", "part.jsonl/p.parquet"]),
        ("{}/day-*", ["day-1/a.jsonl.gz", "day-2/A.JSONL", "day-2/part.jsonl/p.parquet"]),
        ("{}/*/*.jsonl.gz", ["day-1/a.jsonl.gz"]),
        ("{}/other", ["other"]),
        ("{}/day-{{1,2,3}}", ["day-1/a.jsonl.gz", "day-2/A.JSONL", "day-2/part.jsonl/p.parquet"]),
        ("{}/{{day-{{0,1}}/*.gz,x.jsonl,x.jsonl}}", ["day-1/a.jsonl.gz", "x.jsonl"]),
        ("day-{{1,9}}", ["day-1/a.jsonl.gz"]),
        ("*.jsonl", ["x.jsonl"]),
        ("x.jsonl", ["x.jsonl"]),
        ("day-1", ["a.jsonl.gz"]),
        ("./day-1", ["a.jsonl.gz"]),
    ],
)
def test_what_an_input_names_by_paths_relative_to_it(tree: Path, pattern: str, found: list[str]):
    files = find(pattern.format(tree), SUFFIXES).files
    assert [uri for _, uri, _ in files] == found
    assert all(Path(path).is_file() and size == 2 for path, _, size in files)


@pytest.mark.parametrize(
    ("files", "buckets"),
    [
        ([("a.jsonl", 100)], 1),
        ([("a.jsonl", 101)], 2),
        ([("a.jsonl.gz", 100)], 8),
        ([("A.JSONL.ZST", 100)], 8),
        ([("a.parquet", 50), ("b.jsonl", 100)], 5),
        ([("a.jsonl", 0)], 1),
    ],
)
def test_buckets_follow_from_the_size_of_the_input(files: list[tuple[str, int]], buckets: int):
    assert bucket_count(files, 100) == buckets


def test_counts_that_do_not_close_fail():
    table = counts("label", {"in": 5, "kept": 3, "lost": 1})
    with pytest.raises(GateError, match="5 rows were handed on, 5 went in, 4 came out"):
        closes("label", table, 5)
    good = add_up([counts("label", {"in": 3, "kept": 3}), counts("label", {"in": 2, "lost": 2}, {"detail": 9})])
    assert closes("label", good, 5) == {
        "gate": "counts close: label",
        "scope": "whole",
        "passed": True,
        "in": 5,
        "out": {"kept": 3, "lost": 2},
    }
    with pytest.raises(GateError, match="6 rows were handed on, 5 went in"):
        closes("label", good, 6)


def test_parquet_counts_for_its_rows_however_small_it_is_stored(tmp_path: Path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"utterance": pa.repeat("play jazz", 200_000)}), path)
    assert path.stat().st_size < 10_000
    assert stored_bytes(str(path), path.stat().st_size) * 8 == 200_000 * 1024
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    assert stored_bytes(str(tmp_path / "b.parquet"), 16) == 16


def test_consent_that_is_asked_for_and_turns_that_expire_are_counted(tmp_path: Path):
    rows = [{"consent": True}, {"consent": False}, {}, {"consent": True, "expires": "2026-03-02T02:00:00+02:00"}]
    told = [record(turn_id=str(k), user_id=f"u{k}", **row) for k, row in enumerate(rows)]
    folder = write(tmp_path / "in", a_jsonl=lines(*told))
    days = ("release.interval_start=2026-03-01T00:00:00Z", "release.interval_end=2026-03-02T00:00:00Z")
    for k, (options, wanted) in enumerate(
        [
            ((), {}),
            (days, {"3": "expired"}),
            (("filters.require_consent=true",), {"1": "no_consent", "2": "no_consent"}),
            ((*days, "filters.require_consent=true"), {"1": "no_consent", "2": "no_consent", "3": "expired"}),
        ]
    ):
        turns, outcomes, said = run(folder, tmp_path / str(k), *options)
        assert {r["turn_id"]: r["excluded"] for r in turns if r["excluded"]} == wanted
        counted = {name: n for name, n in outcomes.items() if name.startswith("excluded.")}
        assert counted == {f"excluded.{name}": list(wanted.values()).count(name) for name in set(wanted.values())}
        assert outcomes["kept"] == 4
        assert ("1 turn(s) are kept out of learning by expired" in said) == ("3" in wanted)
