"""A file that a stage left was cut short, changed or lost: the next one fails and says which, and what to run again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from site_of_runs import Site
from synthetic import afterword

# Table, and a stage that reads it.
READ = [
    ("ingest/turns/bucket-00000.parquet", "signals"),
    ("ingest/dead_letters/bucket-00000.parquet", "release"),
    ("ingest/counts.parquet", "release"),
    ("signals/signals/bucket-00000.parquet", "train"),
    ("signals/signals/bucket-00000.parquet", "label"),
    ("label/judgements/bucket-00000.parquet", "curate"),
    ("label/corrections/bucket-00000.parquet", "curate"),
    ("curate/examples/bucket-00000.parquet", "release"),
    ("curate/counts.parquet", "release"),
]


def cut(path: Path) -> None:
    """A disk that was full: the end is missing."""
    path.write_bytes(path.read_bytes()[:-64])


def flip(path: Path) -> None:
    """One bit in the middle, where nothing but a hash would tell."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def fails(site: Site, name: str, stage: str, capsys: Any) -> None:
    capsys.readouterr()
    assert afterword(stage, "--out", site.out) == 7
    told = capsys.readouterr().err.splitlines()[-1]
    assert re.search(rf"/stages/{name}: .*Run `afterword {name.split('/')[0]}` and what follows it again", told), told
    assert "while running" not in told
    assert site.check_readers() == site.old


@pytest.mark.parametrize(("name", "stage"), READ)
def test_a_truncated_file_fails_the_next_stage_before_it_begins(
    site: Site, tmp_path: Path, capsys: Any, name: str, stage: str
):
    held = site.copied(tmp_path / "out")
    before = (held.out / "stages" / stage / "stage.json").read_bytes()
    cut(held.out / "stages" / name)
    fails(held, name, stage, capsys)
    assert (held.out / "stages" / stage / "stage.json").read_bytes() == before


@pytest.mark.parametrize(("name", "stage"), READ)
def test_a_changed_byte_fails_the_stage_that_reads_it(site: Site, tmp_path: Path, capsys: Any, name: str, stage: str):
    held = site.copied(tmp_path / "out")
    flip(held.out / "stages" / name)
    fails(held, name, stage, capsys)
    assert not (held.out / "stages" / stage / "stage.json").exists()


def test_a_lost_file_and_a_lost_list_fail_too(site: Site, tmp_path: Path, capsys: Any):
    held = site.copied(tmp_path / "out")
    (held.out / "stages" / "label" / "corrections" / "bucket-00000.parquet").unlink()
    fails(held, "label/corrections/bucket-00000.parquet", "curate", capsys)
    (held.out / "stages" / "ingest" / "turns" / "_bucket-00000.parquet.sum").unlink()
    fails(held, "ingest/turns/bucket-00000.parquet", "signals", capsys)
    (held.out / "stages" / "ingest" / "files.parquet").unlink()
    fails(held, "ingest/files.parquet", "signals", capsys)


def test_a_checksum_that_is_none_fails(site: Site, tmp_path: Path, capsys: Any):
    held = site.copied(tmp_path / "out")
    (held.out / "stages" / "ingest" / "turns" / "_bucket-00000.parquet.sum").write_text('{"bytes": 1}')
    assert afterword("signals", "--out", held.out) == 7
    assert "no checksum" in capsys.readouterr().err.splitlines()[-1]


def test_the_list_of_files_says_what_was_written(site: Site):
    import pyarrow.parquet as pq

    from pipeline import storage
    from schemas import FILE, TURN

    rows = pq.read_table(site.out / "stages" / "ingest" / "files.parquet").cast(FILE.schema).to_pylist()
    held = {row["path"]: row for row in rows}
    row = held["turns/bucket-00000.parquet"]
    data = (site.out / "stages" / "ingest" / row["path"]).read_bytes()
    assert (row["bytes"], row["sha256"], row["schema"]) == (len(data), storage.sha256(data), TURN.digest)
    assert set(held) >= {"counts.parquet", "inputs.parquet", "dead_letters/bucket-00000.parquet"}
