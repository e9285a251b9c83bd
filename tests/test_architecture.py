"""The house: imports run one way, and the records are what their golden files say."""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas import RECORDS, Reason, Record

ROOT = Path(__file__).parents[1]
# What each package may import of ours.
ALLOWED = {
    "schemas": {"schemas"},
    "features": {"schemas", "features"},
    "models": {"schemas", "features", "models"},
    "simulator": {"schemas", "features", "simulator"},
    "pipeline": {"schemas", "features", "models", "simulator", "pipeline"},
    "dags": set(),
}
OURS = {*ALLOWED, "tests", "bench"}


def _golden():
    """The module beside this one, whatever the path that pytest was started with."""
    spec = importlib.util.spec_from_file_location("golden_files", ROOT / "tests" / "golden_files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = _golden()


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Top-level packages that a module imports, anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((a.name.split(".")[0], node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            yield (node.module or "").split(".")[0], node.lineno


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_run_one_way(package: str):
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(package)
        for name, line in imports(path)
        if name in OURS - ALLOWED[package]
    ]
    assert not wrong


def rooms(path: Path) -> Iterator[str]:
    """Folders of pipeline that a module of it imports from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".")
            if parts[0] == "pipeline" and len(parts) > 1 and (ROOT / "pipeline" / parts[1]).is_dir():
                yield parts[1]


def test_inside_the_pipeline_no_two_folders_import_each_other():
    wanted: dict[str, set[str]] = {}
    for path in modules("pipeline"):
        at = path.relative_to(ROOT / "pipeline").parts
        if len(at) > 1:
            wanted.setdefault(at[0], set()).update(set(rooms(path)) - {at[0]})
    assert len(wanted) > 5
    assert not [(a, b) for a in wanted for b in wanted[a] if a < b and a in wanted.get(b, set())]


@pytest.mark.parametrize("package", ["schemas", "features", "models"])
def test_the_pure_packages_know_no_beam_and_no_network(package: str):
    forbidden = {"apache_beam", "airflow", "requests", "urllib", "http", "socket", "great_expectations"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(package)
        for name, line in imports(path)
        if name in forbidden
    ]
    assert modules(package) and not wrong


def test_every_module_says_what_it_is():
    silent = [
        str(path.relative_to(ROOT))
        for package in ALLOWED
        for path in modules(package)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_nothing_hashes_with_a_salt_or_reads_the_clock_where_it_must_not():
    wrong = []
    for package in ("schemas", "features", "models"):
        for path in modules(package):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in {
                    "hash",
                    "uuid.uuid4",
                    "datetime.now",
                    "time.time",
                    "random.random",
                }:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} calls {ast.unparse(node.func)}")
    assert not wrong


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_a_record_is_what_its_golden_file_says(record: Record):
    held = json.loads((golden.FOLDER / f"{record.name}.json").read_text(encoding="utf-8"))
    assert held == golden.contract(record), "run `python -m tests.golden_files` if the contract was meant to change"
    described = {k: v for k, v in held.items() if k != "meaning"}
    described["columns"] = [{k: v for k, v in c.items() if k != "meaning"} for c in held["columns"]]
    assert described == record.describe()


def test_there_is_a_golden_file_for_every_record_and_no_other():
    assert sorted(p.stem for p in golden.FOLDER.glob("*")) == sorted(r.name for r in RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_a_record_is_well_declared(record: Record):
    assert len(set(record.names)) == len(record.names)
    assert set(record.key) <= set(record.names) and record.version >= 1 and record.meaning.endswith(".")
    assert all(c.meaning and "\n" not in c.meaning for c in record.columns)
    assert record.schema.names == list(record.names)
    assert record.conform(record.empty()).schema.equals(record.schema)


def test_every_reason_has_its_advice():
    from schemas import ADVICE

    assert set(ADVICE) == set(Reason)
