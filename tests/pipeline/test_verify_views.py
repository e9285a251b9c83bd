"""Views of several shards, some of fewer than their examples, are proved from the lineage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from golden_views import example, rejection, table, wrong
from made_up_release import many, write_all

from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.release_files import ReleaseFiles
from pipeline.writers.proof import prove_views
from pipeline.writers.views import VIEWS


@pytest.fixture
def release(tmp_path: Path) -> tuple[str, dict[str, Any]]:
    folder, manifest = write_all(tmp_path, pa.concat_tables([many(16, "train"), many(2, "test")]), 3)
    return str(folder), manifest


def shards(manifest: dict[str, Any], view: str) -> list[str]:
    return [path for path in manifest["files"] if path.startswith(f"{view}/data/train-")]


def test_views_of_few_rows_lie_in_fewer_shards_and_none_is_empty(release: tuple[str, dict[str, Any]]):
    folder, manifest = release
    assert len(shards(manifest, "lineage")) == len(shards(manifest, "kto")) == 3
    assert len(shards(manifest, "sft")) == 2 and len(shards(manifest, "review")) == 1
    assert all(facts["rows"] for facts in manifest["files"].values())
    told = prove_views(ReleaseFiles(folder, manifest))
    assert f"review {4 * 18} rows" in told and f"kto {11 * 18}" in told


def rewrite(release: tuple[str, dict[str, Any]], view: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the first shard of a view."""
    path = storage.join(release[0], shards(release[1], view)[0])
    storage.write_table(path, change(storage.read_table(path, VIEWS[view].record.schema)))


@pytest.mark.parametrize("view", ["kto", "sft", "review", "preference"])
def test_a_row_that_is_gone_is_found(release: tuple[str, dict[str, Any]], view: str):
    rewrite(release, view, lambda t: t.slice(1))
    with pytest.raises(VerifyError, match=f"{view}: not the view of the examples in lineage"):
        prove_views(ReleaseFiles(*release))


def test_a_row_in_another_place_of_its_shard_is_found(release: tuple[str, dict[str, Any]]):
    rewrite(release, "kto", lambda t: pa.concat_tables([t.slice(1), t.slice(0, 1)]))
    with pytest.raises(VerifyError, match=r"in lineage .*kto/data/train-00000-of-00003"):
        prove_views(ReleaseFiles(*release))


def test_a_split_of_one_label_is_missing_with_reason(tmp_path: Path):
    held = [example("a"), rejection("b", wrong("d", "i")), example("c", split="test")]
    folder, manifest = write_all(tmp_path, table(*held), 1)
    assert "kto/data/test-00000-of-00001.parquet" not in manifest["files"]
    assert "kto 2" in prove_views(ReleaseFiles(str(folder), manifest))
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "- The 1 rows of `kto` in split test all have the same label, which its trainer refuses" in text
    manifest["counts"]["release"]["view_rows.test.kto.true"] = 2
    with pytest.raises(VerifyError, match="the examples in lineage say"):
        prove_views(ReleaseFiles(str(folder), manifest))
