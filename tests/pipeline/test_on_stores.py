"""The main job from an object store onto it: the release of a run on a disk, byte for byte.

The S3 server keeps what it holds from test to test: each has a folder of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from emulators import gcs, s3
from synthetic import SETTINGS, afterword, tree

from pipeline import storage

Store = Callable[[], AbstractContextManager[str]]
STORES = pytest.mark.parametrize("store", [s3, gcs])
READ = ("--format", "canonical")


def put(log: Path, bucket: str, site: str) -> str:
    """Lay the log on the store, and beside it its count file."""
    for name, data in tree(log).items():
        storage.write_bytes(f"{bucket}/{site}/logs/{name}", data)
    storage.write_bytes(f"{bucket}/{site}/counts.csv", b"path,records\nday,722\nb.jsonl.gz,732\n")
    return f"{bucket}/{site}/logs"


@pytest.mark.long
@STORES
def test_a_run_from_a_store_onto_it_gives_the_bytes_of_a_run_on_a_disk(
    store: Store, log: Path, released: Path, capsys: Any
):
    with store() as bucket:
        logs, out = put(log, bucket, "site"), f"{bucket}/site/out"
        expect = ("--expect", f"{bucket}/site/counts.csv")
        assert afterword("run", "--input", logs, *SETTINGS, "--out", out, *expect) == 0
        made = {path[len(out) + 1 :]: storage.read_bytes(path) for path in storage.files(out, "releases/**")}
        assert made == {f"releases/{name}": data for name, data in tree(released / "releases").items()}
        assert storage.read_bytes(f"{out}/CURRENT") == (released / "CURRENT").read_bytes()
        capsys.readouterr()
        assert afterword("verify", out) == 0 and afterword("explain", "u007-0", "--out", out) == 0
        assert "verified" in capsys.readouterr().out


@STORES
def test_the_look_at_an_input_on_a_store(store: Store, log: Path, capsys: Any):
    with store() as bucket:
        logs = put(log, bucket, "look")
        expect = ("--expect", f"{bucket}/look/counts.csv")
        assert afterword("ready", "--input", f"{bucket}/none", *READ) == 8
        assert afterword("ready", "--input", f"{bucket}/none/*.jsonl", *READ) == 8
        for given in (logs, f"{logs}/day/a.jsonl", f"{logs}/d*/*.jsonl", f"{logs}/**"):
            assert afterword("ready", "--input", given, *READ) == 0
            assert afterword("ready", "--input", given, *READ, "--marker", "_DONE") == 8
        assert afterword("ready", "--input", logs, *READ, *expect) == 0
        assert afterword("ready", "--input", f"{logs}/day", *READ, *expect) == 8
        storage.write_bytes(f"{logs}/day/_DONE", b"1")
        assert afterword("ready", "--input", f"{logs}/d*/*.jsonl", *READ, "--marker", "_DONE") == 0
        assert afterword("ready", "--input", f"{logs}/day/a.jsonl", *READ, "--marker", "_DONE") == 0
        assert afterword("ready", "--input", logs, *READ, "--marker", "_DONE") == 8
        storage.write_bytes(f"{logs}/_DONE", b"1")
        assert afterword("ready", "--input", logs, *READ, "--marker", "_DONE") == 0


@STORES
def test_an_empty_file_on_a_store_is_a_file_without_records(store: Store, log: Path, tmp_path: Path):
    with store() as bucket:
        empty(bucket, "hollow/logs/empty.jsonl")
        storage.write_bytes(f"{bucket}/hollow/logs/a.jsonl", (log / "day" / "a.jsonl").read_bytes())
        storage.write_bytes(f"{bucket}/hollow/counts.json", b'{"a.jsonl": 722, "empty.jsonl": 0}')
        expect = ("--expect", f"{bucket}/hollow/counts.json")
        assert afterword("ingest", "--input", f"{bucket}/hollow/logs", *READ, "--out", tmp_path / "out", *expect) == 0


def empty(bucket: str, name: str) -> None:
    """Put a file of no bytes, as the store's own client does."""
    scheme, _, place = bucket.partition("://")
    if scheme == "s3":
        import boto3

        boto3.client("s3").put_object(Bucket=place, Key=name, Body=b"")
        return
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage as gcs_client

    client = gcs_client.Client(project="test", credentials=AnonymousCredentials())
    client.bucket(place).blob(name).upload_from_string(b"")
