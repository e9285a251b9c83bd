"""The description of a release in Croissant: valid by its own library, and true of every file and view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline import manifest as manifests
from pipeline.writers.croissant import croissant
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
    # No turn of this log states a licence, so none is claimed.
    assert all("license" in warning for warning in issues.warnings)


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


def test_what_is_beside_the_views_has_files_too(release: Path, described: dict[str, Any]):
    sets = {f["includes"].split("/")[0] for f in described["distribution"] if f["@type"] == "cr:FileSet"}
    listed = manifests.read(str(release))["files"]
    assert sets == {path.split("/")[0] for path in listed if "/data/" in path and path.endswith(".parquet")}


def test_its_date_is_of_the_log_and_a_licence_is_told_where_every_example_states_one(release: Path):
    held = manifests.read(str(release))
    assert croissant(held)["datePublished"] == held["window"]["last"][:10] and "license" not in croissant(held)
    day = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-02T00:00:00Z"}
    assert croissant(held | {"interval": day})["datePublished"] == "2026-03-02"
    counts = {k: n for k, n in held["counts"]["release"].items() if k != "without_licence"} | {"of_licence.MIT": 3}
    assert croissant(held | {"counts": {"release": counts}})["license"] == ["MIT"]
    assert held["release_id"] in croissant(held)["citeAs"]


def test_tables_beside_the_views_are_read_by_their_description(released: Path):
    folder = released / "releases" / (released / "CURRENT").read_text().strip()
    files = manifests.read(str(folder))["files"]
    for name in ("dead_letters", "left_out"):
        rows = sum(f["rows"] for path, f in files.items() if path.startswith(f"{name}/data/"))
        if rows:
            assert len(list(mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).records(name))) == rows
    assert any(path.startswith("dead_letters/") for path in files)
