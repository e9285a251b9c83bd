"""CURRENT goes back, pins stay, and what nothing names is cleared away."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from leaver import current, manifest
from synthetic import SETTINGS, afterword, copy, tree

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.errors import ConfigError
from pipeline.filters.tombstones import tombstone_files
from pipeline.lifecycle import listing
from pipeline.lifecycle.garbage import seconds
from pipeline.lifecycle.listing import remove_release

DAY = 86_400


@pytest.fixture(scope="module")
def two(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases, the second the first one's child. Copy it before changing it."""
    out = copy(released, tmp_path_factory.mktemp("two") / "out")
    shutil.rmtree(out / "releases")
    (out / "CURRENT").unlink()
    for first, last in ((1, 2), (2, 3)):
        days = {"start": f"2026-03-0{first}T00:00:00Z", "end": f"2026-03-0{last}T00:00:00Z"}
        interval = [a for k, v in days.items() for a in ("--set", f"release.interval_{k}={v}")]
        assert afterword("run", "--from", "release", *SETTINGS[2:], *interval, "--out", out) == 0
    return out


def parent(out: Path) -> str:
    return str(manifest(out)["identity"]["parent"])


def test_rollback_goes_to_the_parent_and_by_name_back_again(two: Path, tmp_path: Path, capsys: Any):
    out = copy(two, tmp_path / "out")
    second, first = current(out), parent(out)
    assert afterword("rollback", "--out", out) == 0
    assert current(out) == first and "verified" in capsys.readouterr().out
    assert afterword("rollback", "--out", out) == 7
    assert "has no parent" in capsys.readouterr().err
    assert afterword("rollback", "--out", out, "--to", second[:8]) == 0
    assert current(out) == second
    assert tree(out / "releases") == tree(two / "releases")


def test_rollback_refuses_what_is_damaged_or_not_there(two: Path, tmp_path: Path, capsys: Any):
    out = copy(two, tmp_path / "out")
    second, first = current(out), parent(out)
    (out / "releases" / first / "README.md").write_text("other")
    assert afterword("rollback", "--out", out) == 5 and "README.md" in capsys.readouterr().err
    assert afterword("rollback", "--out", out, "--to", "0" * 64) == 2
    shutil.rmtree(out / "releases" / first)
    assert afterword("rollback", "--out", out) == 7 and "is gone" in capsys.readouterr().err
    assert current(out) == second


def test_nobody_is_pointed_to_a_release_that_holds_a_forgotten_user(two: Path, tmp_path: Path, capsys: Any):
    out = copy(two, tmp_path / "out")
    tombstone_files(str(out), None).add(["u001"])
    for command in (("rollback",), ("pin", "trainer", parent(out))):
        assert afterword(*command, "--out", out) == 6
        assert "users who were forgotten" in capsys.readouterr().err
    assert current(out) == current(two) and not (out / "pins").exists()


def test_a_pin_names_a_release_until_it_is_moved_or_taken_away(two: Path, tmp_path: Path, capsys: Any):
    out = copy(two, tmp_path / "out")
    assert afterword("pin", "--out", out, "nlu", parent(out)[:8]) == 0
    assert afterword("pin", "--out", out, "rl.team", "CURRENT", "--json") == 0
    told = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert told == {"pins": {"nlu": parent(out), "rl.team": current(out)}}
    assert (out / "pins" / "nlu").read_text() == f"{parent(out)}\n"
    assert afterword("pin", "--out", out, "nlu", "--remove") == 0
    assert sorted(p.name for p in (out / "pins").iterdir()) == ["rl.team"]


@pytest.mark.parametrize(
    "arguments", [("../x", "CURRENT"), ("a",), ("a", "CURRENT", "--remove"), ("a", "--remove"), ("a", "f" * 64)]
)
def test_a_pin_that_cannot_be_is_refused(two: Path, arguments: tuple[str, ...]):
    assert afterword("pin", "--out", two, *arguments) == 2
    assert not (two / "pins").exists()


def made_up(out: Path, name: str, **fields: Any) -> Path:
    """A release, as far as gc looks at it."""
    folder = out / "releases" / name
    folder.mkdir(parents=True)
    held: dict[str, Any] = {"format": manifests.FORMAT, "release_id": name, "interval": None, "counts": {}}
    held |= {"identity": {"parent": None}, "closing": {}, "files": {}, "quarantine": {"carried_from": None}}
    (folder / manifests.NAME).write_text(json.dumps(held | fields))
    (folder / "data").write_text("x" * 100)
    return folder


def age(path: Path, days: float) -> None:
    for each in [path, *path.rglob("*")]:
        at = each.stat().st_mtime - days * DAY
        os.utime(each, (at, at))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Releases and leftovers of all sorts, all of them old but one."""
    out = tmp_path / "out"
    made_up(out, "now", identity={"parent": "before"}, quarantine={"carried_from": "source"})
    made_up(out, "before")
    made_up(out, "source", quarantine={"carried_from": "origin"})
    for name in ("origin", "pinned", "gone"):
        made_up(out, name)
    (out / "releases" / "half").mkdir()
    (out / "releases" / "half" / "data").write_text("x" * 10)
    (out / "CURRENT").write_text("now\n")
    (out / "pins").mkdir()
    (out / "pins" / "team").write_text("pinned\n")
    for run, release_id in (("r1", "gone"), ("r2", "now"), ("r3", None)):
        (out / "runs" / run).mkdir(parents=True)
        (out / "runs" / run / "run.json").write_text(json.dumps({"result": {"release_id": release_id}}))
    spill = out / "stages" / "spill" / "ingest"
    spill.mkdir(parents=True)
    (spill / "a.arrow").write_text("abc")
    (out / "stages" / ".tmp-x-stage.json").write_text("ab")
    (out / "stages" / "kept.parquet").write_text("stage")
    age(out, 60)
    made_up(out, "young")
    return out


def collected(out: Path, capsys: Any, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert afterword("gc", "--out", out, "--json", *arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_gc_lists_what_nothing_names_with_its_size(store: Path, capsys: Any):
    before = tree(store)
    told = collected(store, capsys)
    assert set(told["kept"]) == {"now", "before", "source", "origin", "pinned", "young"}
    assert told["kept"]["pinned"] == ["pin team"] and told["kept"]["young"] == ["younger than 30d"]
    assert {i["path"] for i in told["items"]} == {
        "releases/gone",
        "releases/half",
        "runs/r1",
        "runs/r3",
        "stages/spill/ingest/a.arrow",
        "stages/.tmp-x-stage.json",
    }
    sizes = {i["path"]: i["bytes"] for i in told["items"]}
    assert sizes["releases/half"] == 10 and sizes["stages/.tmp-x-stage.json"] == 2
    assert told["bytes"] == sum(sizes.values()) and not told["deleted"]
    assert tree(store) == before


def test_gc_removes_what_it_listed_and_nothing_else(store: Path, capsys: Any):
    before = tree(store)
    told = collected(store, capsys, "--delete")
    gone = tuple(i["path"] for i in told["items"])
    left = {n: d for n, d in tree(store).items() if n != ".work.lock"}
    assert left == {n: d for n, d in before.items() if not n.startswith(gone)} and told["deleted"]
    assert collected(store, capsys)["items"] == []


def test_gc_minds_the_age(store: Path, capsys: Any):
    assert collected(store, capsys, "--older-than", "61d")["items"] == []
    told = collected(store, capsys, "--older-than", "0h")
    assert "releases/young" in {i["path"] for i in told["items"]} and "now" in told["kept"]
    assert [seconds(a) for a in ("12h", "30d", "8w")] == [43_200, 2_592_000, 4_838_400]
    with pytest.raises(ConfigError, match="30d"):
        seconds("30")


def test_a_removal_that_is_stopped_leaves_no_release(store: Path, monkeypatch: pytest.MonkeyPatch):
    removed: list[str] = []

    def stopped(path: str) -> None:
        if removed:
            raise KeyboardInterrupt
        removed.append(path)
        Path(path).unlink()

    monkeypatch.setattr(listing.storage, "remove", stopped)
    with pytest.raises(KeyboardInterrupt):
        remove_release(str(store), "gone")
    assert (store / "releases" / "gone" / "data").exists()
    assert "gone" not in listing.release_ids(str(store))


def test_an_output_folder_that_is_not_there_is_not_made(tmp_path: Path):
    for command in (("gc", "--delete"), ("forget", "--user", "u"), ("pin",), ("rollback",), ("diff", "a", "b")):
        assert afterword(*command, "--out", tmp_path / "none") == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("user", ["alice.smith@example.com", "anna"])
def test_an_input_that_is_named_after_a_forgotten_user_is_found_in_the_manifest(
    two: Path, tmp_path: Path, capsys: Any, user: str
):
    out = copy(two, tmp_path / "out")
    assert afterword("forget", "--out", out, "--user", user) == 0
    path = out / "releases" / current(out) / manifests.NAME
    told = json.loads(path.read_text())
    told["identity"]["inputs"][0]["uri"] = f"logs/{user}.jsonl"
    path.write_text(json.dumps(told))
    assert afterword("forget", "--out", out, "--user", user) == 4
    assert f"{current(out)}/{manifests.NAME}" in capsys.readouterr().err


def test_what_has_no_option_of_a_release_is_not_told_by_one(two: Path, capsys: Any):
    for command, told in ((("diff", "a", "CURRENT"), "release a:"), (("rollback", "--to", "ffff"), "--to ffff:")):
        assert afterword(*command, "--out", two) == 2
        text = capsys.readouterr().err
        assert told in text and "--release" not in text and current(two)[:12] in text


@pytest.fixture(scope="module")
def plain(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases of runs without an interval, so that none has a parent. Copy it before changing it."""
    out = copy(released, tmp_path_factory.mktemp("plain") / "out")
    options = ("--set", "release.shard_bytes=100000")
    assert afterword("run", "--from", "release", *SETTINGS[2:], *options, "--out", out) == 0
    return out


def test_rollback_without_intervals_goes_to_what_was_current_before(plain: Path, released: Path, tmp_path: Path):
    out = copy(plain, tmp_path / "out")
    assert parent(out) == "None" and current(out) != current(released)
    assert afterword("rollback", "--out", out) == 0
    assert current(out) == current(released)


def test_where_nothing_was_current_before_the_releases_and_the_command_are_told(
    plain: Path, released: Path, tmp_path: Path, capsys: Any
):
    out = copy(plain, tmp_path / "out")
    second, first = current(plain), current(released)
    assert afterword("rollback", "--out", out, "--to", first) == 0
    assert afterword("rollback", "--out", out) == 7
    told = capsys.readouterr().err
    assert "no other was current before it" in told and f"There are: {second[:12]} of the run that ended 20" in told
    assert f"afterword rollback --out {out} --to {second[:12]}" in told
    shutil.rmtree(out / "runs")
    shutil.rmtree(out / "stages")
    (out / "CURRENT").write_text(second)
    assert afterword("rollback", "--out", out) == 7
    assert f"--to {first[:12]}" in capsys.readouterr().err


def test_what_was_current_before_is_not_cleared_away(plain: Path, released: Path, tmp_path: Path, capsys: Any):
    out = copy(plain, tmp_path / "out")
    told = collected(out, capsys, "--older-than", "0h")
    assert told["kept"] == {current(plain): ["CURRENT"], current(released): ["was CURRENT before"]}


def of_other_code(out: Path, release_id: str) -> Path:
    """A copy of a release as another code would have written it: the schema of one record is another."""
    folder = out / "releases" / release_id
    told = json.loads((folder / manifests.NAME).read_text())
    told["identity"]["code"] = "0.0.9+abcdef"
    for path, facts in told["files"].items():
        if path.startswith("nlu/"):
            facts["schema"] = "0" * 64
    told["release_id"] = manifests.release_id(told["identity"])
    other = copy(folder, out / "releases" / told["release_id"])
    (other / manifests.NAME).write_bytes(storage.readable_json(told))
    return other


def test_rollback_to_a_release_of_other_code_proves_what_can_be_and_says_the_rest(
    two: Path, tmp_path: Path, capsys: Any
):
    out = copy(two, tmp_path / "out")
    other = of_other_code(out, parent(out))
    assert afterword("verify", other) == 5
    assert "verify with the code that wrote it: 0.0.9+abcdef" in capsys.readouterr().err
    assert afterword("rollback", "--out", out, "--to", other.name) == 0
    told = capsys.readouterr().out
    assert "was left out, as the release is of code 0.0.9+abcdef, and of nlu this code" in told
    assert "files have the sizes and hashes of the manifest" in told and "rows are there" in told
    assert current(out) == other.name


@pytest.mark.parametrize("spoil", ["byte", "extra", "counts", "rows"])
def test_rollback_refuses_a_damaged_release_of_other_code(two: Path, tmp_path: Path, spoil: str):
    out = copy(two, tmp_path / "out")
    other = of_other_code(out, parent(out))
    told = json.loads((other / manifests.NAME).read_text())
    if spoil == "byte":
        (other / "README.md").write_text("other")
    elif spoil == "extra":
        (other / "nlu" / "more").write_text("x")
    elif spoil == "counts":
        told["closing"]["curate"]["kept"] += 1
    else:
        next(facts for path, facts in told["files"].items() if path.startswith("nlu/"))["rows"] += 1
    (other / manifests.NAME).write_bytes(storage.readable_json(told))
    assert afterword("rollback", "--out", out, "--to", other.name) == 5
    assert current(out) == current(two)
