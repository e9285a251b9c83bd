from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from synthetic import copy

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.curation.evidence import prove_evidence
from pipeline.errors import VerifyError
from pipeline.verify import PROOFS, verify
from pipeline.writers.views import VIEWS
from schemas import EXAMPLE, NLU


@pytest.fixture
def release(released: Path, tmp_path: Path) -> Path:
    """A release folder that a test may spoil."""
    folder = next((released / "releases").iterdir())
    return copy(folder, tmp_path / folder.name)


def edit(release: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest in place."""
    path = release / manifests.NAME
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_bytes(storage.readable_json(manifest))


def rewrite(release: Path, view: str, change: Callable[[pa.Table], pa.Table], split: str = "train") -> str:
    """Change a view's first file of a split, and make its size, rows and hash in the manifest true again."""
    record = VIEWS[view].record if view in VIEWS else EXAMPLE
    path = next((release / view / "data").glob(f"{split}-*"))
    data = storage.encode(change(storage.read_table(str(path), record.schema)))
    path.write_bytes(data)
    name = path.relative_to(release).as_posix()
    edit(release, lambda m: m["files"][name].update(bytes=len(data), sha256=storage.sha256(data)))
    return name


def put(table: pa.Table, column: str, values: list[Any]) -> pa.Table:
    at = table.column_names.index(column)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def refused(release: Path, says: str) -> None:
    with pytest.raises(VerifyError, match=says):
        verify(str(release))


def test_a_release_as_written_is_proved(release: Path):
    proofs = verify(str(release))
    assert len(proofs) == len(PROOFS) and any("unique, traceable, supported" in p for p in proofs)
    assert "every view is that of its examples" in proofs[-2] and proofs[-1].endswith("say what the manifest says")
    assert verify(f"{release}/") == proofs
    assert json.loads((release / manifests.NAME).read_text())["closing"]["curate"]["kept"] > 10


def test_a_flipped_byte_names_its_file(release: Path):
    path = next((release / "nlu" / "data").glob("train-*"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    refused(release, r"nlu/data/train-00000-of-00001\.parquet: \d+ bytes with SHA-256")


def test_licences_that_are_counted_otherwise_are_told(release: Path):
    edit(release, lambda m: m["counts"]["release"].update({"of_licence.MIT": 1}))
    refused(release, "lineage: licences .*without_licence.*, the counts say .*of_licence.MIT")


def test_a_missing_file_is_named(release: Path):
    (release / "README.md").unlink()
    refused(release, r"README\.md: listed in the manifest, but missing")


@pytest.mark.parametrize("name", ["nlu/data/train-00009-of-00009.parquet", "nlu/data/evil", ".hidden", "x/y.txt"])
def test_a_further_file_is_named(release: Path, name: str):
    (release / name).parent.mkdir(exist_ok=True)
    (release / name).write_bytes(b"x")
    refused(release, f"not in the manifest: {name}")


def test_leftovers_of_a_crashed_write_are_no_further_files(release: Path):
    (release / "nlu" / "data" / ".tmp-0123-train-00000-of-00001.parquet").write_bytes(b"x")
    verify(str(release))


def test_the_reward_may_be_loaded_from_the_release(release: Path):
    """As docs/views.md has it for verl: Python writes what it compiles beside the source."""
    reward = release / "taskset" / "nlu_repair" / "reward.py"
    code = f"import sys; sys.path[:0] = [{str(reward.parent)!r}]; import reward; print(reward.compute_score.__name__)"
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "compute_score"
    assert list((reward.parent / "__pycache__").glob("reward.*.pyc"))
    verify(str(release))


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("taskset/build/lib/nlu_repair/reward.py", True),
        ("taskset/nlu_repair.egg-info/PKG-INFO", True),
        ("taskset/nlu_repair/__pycache__/rows.cpython-312.pyc.139922", True),
        # No source of a release, or none that could be meant.
        ("taskset/nlu_repair/__pycache__/other.cpython-312.pyc", False),
        ("taskset/nlu_repair/__pycache__/reward.py", False),
        ("taskset/nlu_repair/__pycache__/a/reward.cpython-312.pyc", False),
        ("taskset/nlu_repair/reward.pyc", False),
        ("taskset/nlu_repair/reward/__init__.py", False),
        ("taskset/nlu_repair/build/x.py", False),
        ("taskset/build", False),
        ("nlu/data/__pycache__/train.cpython-312.pyc", False),
        ("nlu/build/train-00000-of-00001.parquet", False),
        ("build/x", False),
    ],
)
def test_what_the_use_of_the_taskset_leaves_is_no_further_file(release: Path, name: str, taken: bool):
    (release / name).parent.mkdir(parents=True, exist_ok=True)
    (release / name).write_bytes(b"x")
    if taken:
        verify(str(release))
    else:
        refused(release, f"not in the manifest: {name}")


@pytest.mark.parametrize("stage", ["ingest", "signals", "label", "curate", "release"])
def test_counts_that_do_not_close_name_their_stage(release: Path, stage: str):
    def change(manifest: dict[str, Any]) -> None:
        for held in ("closing", "counts"):
            manifest[held][stage]["kept"] += 1

    edit(release, change)
    refused(release, f"stage {stage}: ")


def test_counts_that_differ_from_those_that_close_name_their_stage(release: Path):
    edit(release, lambda m: m["counts"]["label"].update(kept=1))
    refused(release, "stage label: the counts say")


def test_counts_that_close_but_do_not_hand_on_name_the_stage(release: Path):
    def change(manifest: dict[str, Any]) -> None:
        for held in ("closing", "counts"):
            manifest[held]["label"] |= {"in": 1, "kept": 1}

    edit(release, change)
    refused(release, "stage label: 1 rows in, ingest kept")


def test_rows_that_do_not_match_the_manifest_name_the_file(release: Path):
    name = rewrite(release, "nlu", lambda t: t.slice(1))
    refused(release, f"{name}: .* rows, the manifest says")


def test_fewer_examples_than_were_counted_are_named_by_view(release: Path):
    for view in ("nlu", "lineage"):
        name = rewrite(release, view, lambda t: t.slice(1))
        edit(release, lambda m, name=name: m["files"][name].update(rows=m["files"][name]["rows"] - 1))
    refused(release, "nlu: .* rows written, .* counted")


def test_a_renamed_folder_is_not_that_release(release: Path):
    refused(release.rename(release.with_name("other")), "the folder is named other")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["identity"].update(parent="x"),
        lambda m: m["identity"]["config"]["curate"].update(min_users=1),
        lambda m: m["identity"]["inputs"].pop(),
        lambda m: m.update(release_id="0" * 64),
    ],
)
def test_a_changed_identity_does_not_give_the_id(release: Path, change: Callable[[dict[str, Any]], object]):
    edit(release, change)
    refused(release, "does not follow from its identity")


def test_an_interval_that_the_configuration_does_not_have_is_refused(release: Path):
    edit(release, lambda m: m.update(interval={"start": "2026-03-01T00:00:00Z", "end": "2026-03-02T00:00:00Z"}))
    refused(release, "interval")


def test_an_example_that_occurs_twice_is_found_even_with_true_hashes(release: Path):
    for view, key in (("lineage", "example_id"), ("nlu", "id"), ("sft", "id"), ("rl", "key")):
        rewrite(release, view, lambda t, key=key: put(t, key, [t[key][1].as_py(), *t[key].to_pylist()[1:]]))
    refused(release, "an example id occurs twice")


def test_view_and_lineage_hold_the_same_examples(release: Path):
    rewrite(release, "nlu", lambda t: put(t, "id", ["f" * 32, *t["id"].to_pylist()[1:]]))
    refused(release, "not the view of the examples in lineage")


@pytest.mark.parametrize(("column", "value"), [("support", 1), ("agreement", 0.5)])
def test_support_and_agreement_under_the_minimum_name_the_example(release: Path, column: str, value: float):
    rewrite(release, "lineage", lambda t: put(t, column, [value, *t[column].to_pylist()[1:]]))
    refused(release, r"lineage: [0-9a-f]{32} has support")


def filled(table: pa.Table, column: str, value: Any) -> pa.Table:
    return put(table, column, [value] * table.num_rows)


def provenance(member: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Another value in the provenance of the first example."""

    def change(table: pa.Table) -> pa.Table:
        held = table["provenance"].to_pylist()
        held[0][member] = value
        return put(table, "provenance", held)

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: filled(t, "support", 99), r"has support 99, and \d+ users in its provenance"),
        (provenance("subjects", ["a" * 32, "b" * 32, "b" * 32]), "and 2 users in its provenance"),
        (lambda t: filled(t, "weight", 7.0), "has weight 7.0; it is to be the confidence"),
        (lambda t: filled(t, "certified", True), "is a confirmation and said to be certified"),
        (lambda t: filled(filled(t, "certified", True), "kind", "correction"), "the defect threshold is certified"),
        (provenance("turn_ids", []), "names no turn that it was made from"),
        (provenance("defect_model_id", "0" * 16), "was made with defect model 0000000000000000, the release with "),
        (provenance("correction_model_id", "other"), "was made with correction model other, the release with "),
    ],
)
def test_what_an_example_says_follows_from_what_stands_behind_it(
    release: Path, change: Callable[[pa.Table], pa.Table], says: str
):
    rewrite(release, "lineage", change)
    refused(release, f"lineage: [0-9a-f]{{32}} .*{says}")


def test_a_certificate_wants_a_threshold_that_was_certified():
    """As in the manifest: by domain, and for one that training has not seen none."""
    pooled = {"value": 0.8, "certified_at": 0.9}
    proved = {"defect": pooled | {"domains": {"home": pooled}}, "correction": pooled | {"domains": {"home": pooled}}}
    manifest = {"quarantine": {"domains": {}}, "identity": {"models": {"defect": "d", "correction": "c"}}}

    def prove(kind: str, domains: list[str], certified: bool = True, **thresholds: Any) -> None:
        behind = {"turn_ids": ["t"], "subjects": ["s"], "domains": domains}
        behind |= {"defect_model_id": "d", "correction_model_id": "c"}
        row = {"example_id": "e", "kind": kind, "support": 1, "weight": 0.5, "confidence": 0.5, "context": None}
        row |= {"certified": certified, "provenance": behind}
        table = pa.Table.from_pylist([row], schema=EXAMPLE.schema)
        prove_evidence(manifest | {"thresholds": proved | thresholds}, table)

    prove("correction", ["home"])
    prove("rejection", ["home", "music"], correction=pooled | {"certified_at": None})
    prove("confirmation", ["music"], certified=False)
    with pytest.raises(VerifyError, match="is a confirmation and said to be certified"):
        prove("confirmation", ["home"])
    with pytest.raises(VerifyError, match="the defect threshold is certified in none of its domains, music"):
        prove("correction", ["music"])
    with pytest.raises(VerifyError, match="the correction threshold is certified in none of its domains, home"):
        prove("correction", ["home"], correction=pooled | {"certified_at": None})


def test_a_turn_in_two_splits_is_named(release: Path):
    train = next((release / "lineage" / "data").glob("train-*"))
    turn = storage.read_table(str(train), EXAMPLE.schema)["provenance"][0].as_py()["turn_ids"][0]

    def leak(table: pa.Table) -> pa.Table:
        held = table["provenance"].to_pylist()
        held[0]["turn_ids"] = [*held[0]["turn_ids"], turn]
        return put(table, "provenance", held)

    rewrite(release, "lineage", leak, split="test")
    refused(release, f"turn {turn} stands in two splits")


def test_a_table_of_another_schema_names_its_file(release: Path):
    path = next((release / "nlu" / "data").glob("train-*"))
    data = storage.encode(pa.table({"id": ["x"]}))
    path.write_bytes(data)
    name = path.relative_to(release).as_posix()
    edit(release, lambda m: m["files"][name].update(bytes=len(data), sha256=storage.sha256(data), rows=1))
    refused(release, f"{name}: cannot be read as nlu")


def test_a_schema_that_this_code_does_not_know_names_the_code_that_does(release: Path):
    edit(release, lambda m: [f.update(schema="0" * 64) for p, f in m["files"].items() if p.startswith("nlu/")])
    refused(release, "verify with the code that wrote it: 0.1.0")


def test_a_view_that_is_none_is_refused(release: Path):
    data = (next((release / "nlu" / "data").glob("train-*"))).read_bytes()
    (release / "dpo").mkdir()
    (release / "dpo" / "x.parquet").write_bytes(data)
    edit(
        release,
        lambda m: m["files"].update(
            {"dpo/x.parquet": {"bytes": len(data), "sha256": storage.sha256(data), "rows": 1, "schema": NLU.digest}}
        ),
    )
    refused(release, "dpo/x.parquet: no view")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, r"no manifest\.json"),
        ("{", "not JSON"),
        ("[]", "format"),
        ('{"format": "other/1"}', "format"),
        ('{"format": "afterword-release/1"}', "lacks"),
    ],
)
def test_a_manifest_that_is_none(release: Path, text: str | None, says: str):
    path = release / manifests.NAME
    path.unlink()
    if text is not None:
        path.write_text(text)
    refused(release, says)


def _reply(table: pa.Table) -> pa.Table:
    """Another completion in the first row."""
    held = table["messages"].to_pylist()
    held[0][-1]["content"] = '{"domain":"travel","intent":"stay","slots":[]}'
    return put(table, "messages", held)


@pytest.mark.parametrize(
    ("view", "change"),
    [
        ("nlu", lambda t: put(t, "intent", ["WRONG"] * t.num_rows)),
        ("sft", _reply),
        ("sft", lambda t: put(t, "tools", ["[]"] * t.num_rows)),
        ("rl", lambda t: put(t, "answer", ["{}", *t["answer"].to_pylist()[1:]])),
        ("rl", lambda t: put(t, "solve_rate", [0.0] * t.num_rows)),
    ],
)
def test_a_view_of_other_content_is_found_even_with_true_hashes(
    release: Path, view: str, change: Callable[[pa.Table], pa.Table]
):
    rewrite(release, view, change)
    refused(release, f"{view}: not the view of the examples in lineage")


@pytest.mark.parametrize("view", list(VIEWS))
def test_rows_of_a_view_that_are_gone_are_counted(release: Path, view: str):
    if not (release / view).exists():
        pytest.skip("this log has no rows of it")
    name = rewrite(release, view, lambda t: t.slice(1))
    edit(release, lambda m: m["files"][name].update(rows=m["files"][name]["rows"] - 1))
    refused(release, f"{view}: .* rows written, .* counted")


def test_a_label_has_no_context(release: Path):
    rewrite(release, "lineage", lambda t: put(t, "context", [[]] * t.num_rows))
    refused(release, "lineage: [0-9a-f]{32} is a confirmation and has a context")


def test_a_gate_that_failed_or_did_not_run_is_named(release: Path):
    edit(release, lambda m: m["gates"][0].update(passed=False))
    refused(release, "gates: failed: .*counts close")
    edit(release, lambda m: m["gates"].pop(0))
    refused(release, "did not run: .*counts close: ingest")
