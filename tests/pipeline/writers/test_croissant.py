"""The description of a release in Croissant: valid by its own library, and true of every file and view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline import manifest as manifests
from pipeline.writers.views import VIEWS

mlcroissant = pytest.importorskip("mlcroissant")


@pytest.fixture(scope="module")
def release(repaired: Path) -> Path:
    return repaired / "releases" / (repaired / "CURRENT").read_text().strip()


@pytest.fixture(scope="module")
def described(release: Path) -> dict[str, Any]:
    return json.loads((release / "croissant.json").read_text())


def test_its_own_library_finds_no_fault(release: Path):
    issues = mlcroissant.Dataset(jsonld=str(release / "croissant.json")).metadata.issues
    assert not issues.errors


def test_every_parquet_file_stands_with_its_hash(release: Path, described: dict[str, Any]):
    files = {f["@id"]: f["sha256"] for f in described["distribution"] if f["@type"] == "cr:FileObject"}
    listed = manifests.read(str(release))["files"]
    assert files == {path: facts["sha256"] for path, facts in listed.items() if path.endswith(".parquet")}


@pytest.mark.parametrize("view", ["nlu", "rl", "sft", "lineage"])
def test_a_view_is_read_by_its_description(release: Path, view: str):
    rows = list(mlcroissant.Dataset(jsonld=str(release / "croissant.json")).records(view))
    files = manifests.read(str(release))["files"]
    assert len(rows) == sum(f["rows"] for path, f in files.items() if path.startswith(f"{view}/"))
    key = VIEWS[view].record.key[0] if view in VIEWS else "example_id"
    assert len({row[f"{view}/{key}"] for row in rows}) == len(rows)
