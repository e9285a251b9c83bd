"""Two days through the command: on the second every music turn is denied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import CITIES, SETTINGS, afterword, copy, lines, records, swap, tree

from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.verify import verify
from schemas import EXAMPLE, JUDGEMENT
from schemas.expectations import SIGNALS

DAYS = {"good": ("2026-03-01", "2026-03-02"), "bad": ("2026-03-02", "2026-03-03")}
MIN_USERS = {"good": 2, "bad": 3}


def day_log(name: str) -> bytes:
    """Every third wish is for a song. On the bad day songs are denied each time, but for those that are places now."""
    out = []
    for row in records(users=240, seed=7 if name == "good" else 8)[: 240 * 6]:
        wish, answer = divmod(row["sequence"], 2)
        row |= {"turn_id": f"{name}-{row['turn_id']}"}
        if wish == 0 and not answer:
            city = next(word for word in row["utterance"].split() if word in CITIES)
            place = name == "bad" and city in ("rome", "oslo", "lima")
            readings = [r | {"domain": "places" if place else "music"} for r in row["interpretations"]]
            # Of some songs few users say each.
            which = f" number {len(out) % 4}" if city in ("turin", "cairo") else ""
            row |= {"utterance": f"a song of {city}{which}", "interpretations": readings}
        elif wish == 0 and name == "bad" and not place:
            no = {"domain": "travel", "intent": "negate", "slots": [], "score": 0.9}
            row |= {"utterance": "no that is wrong", "interpretations": [no]}
        out.append(row)
    return lines(*out)


def settings(name: str, *more: str) -> list[str]:
    """The day's configuration; `more` comes last and holds."""
    start, end = DAYS[name]
    interval = (f"release.interval_start={start}T00:00:00Z", f"release.interval_end={end}T00:00:00Z")
    # Songs by number differ by one letter and mean the same; here they are to be examples of their own.
    apart = "curate.deduplicate=false"
    own = (*interval, f"curate.min_users={MIN_USERS[name]}", "curate.min_agreement=0.6", apart, *more)
    return [*SETTINGS[2:], *(a for s in own for a in ("--set", s))]


def run_day(out: Path, name: str, folder: Path, *more: str) -> int:
    log = folder / f"{name}.jsonl"
    log.write_bytes(day_log(name))
    return afterword("run", "--input", log, "--format", "canonical", "--out", out, *settings(name, *more))


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder after both days. Read it; copy it before changing it."""
    folder = tmp_path_factory.mktemp("days")
    for name in DAYS:
        assert run_day(folder / "out", name, folder) == 0
    return folder / "out"


def releases(out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifests of the good and the bad day."""
    found = [json.loads(p.read_text()) for p in (out / "releases").glob("*/manifest.json")]
    good, bad = sorted(found, key=lambda m: m["interval"]["start"])
    return good, bad


def examples(out: Path, manifest: dict[str, Any], view: str = "lineage") -> list[dict[str, Any]]:
    return pq.read_table(out / "releases" / manifest["release_id"] / view / "data").to_pylist()


def test_the_domain_is_quarantined_with_its_reason_and_current_is_switched(two_days: Path):
    good, bad = releases(two_days)
    assert good["quarantine"] == {"domains": {}, "carried_from": None}
    assert list(bad["quarantine"]["domains"]) == ["music"]
    entry = bad["quarantine"]["domains"]["music"]
    check = entry["checks"][0]
    assert check["gate"] == "domains: not nearly all turns are defective"
    assert check["observed"] > check["bound"] == 0.9 and entry["turns"] == bad["domains"]["music"]["turns"]
    assert (two_days / "CURRENT").read_text().strip() == bad["release_id"]
    facts = json.loads((two_days / "stages" / "release" / "stage.json").read_text())["facts"]
    assert facts["quarantined"] == bad["quarantine"]["domains"]


def test_its_last_good_examples_stay_and_no_new_one_comes(two_days: Path):
    good, bad = releases(two_days)
    before = {e["example_id"]: e for e in examples(two_days, good) if e["domain"] == "music"}
    after = {e["example_id"]: e for e in examples(two_days, bad) if e["domain"] == "music"}
    assert after and set(after) <= set(before) and all(before[k] == e for k, e in after.items())
    entry = bad["quarantine"]["domains"]["music"]
    assert entry["carried"] == len(after) and entry["carried_dropped"] == len(before) - len(after)
    assert bad["quarantine"]["carried_from"] == bad["identity"]["parent"] == good["release_id"]
    assert entry["withheld"] > 0
    assert {e["id"] for e in examples(two_days, bad, "nlu")} == {e["example_id"] for e in examples(two_days, bad)}


def test_no_new_example_is_of_a_turn_that_was_judged_in_it(two_days: Path):
    _, bad = releases(two_days)
    of_turns = {e["example_id"]: e["provenance"]["domains"] for e in examples(two_days, bad) if e["domain"] != "music"}
    assert of_turns and all(domains and "music" not in domains for domains in of_turns.values())


def test_the_counts_close_and_say_why_an_example_was_given_up(two_days: Path):
    good, bad = releases(two_days)
    told = bad["counts"]["release"]
    assert bad["closing"]["release"] == {k: told[k] for k in ("in", "kept", "quarantined")}
    assert told["in"] == told["kept"] + told["quarantined"] == bad["closing"]["curate"]["kept"]
    assert len(examples(two_days, bad)) == told["kept"] + told["carried"]
    new = {e["utterance"] for e in examples(two_days, bad) if e["domain"] != "music"}
    gone = [e for e in examples(two_days, good) if e["domain"] == "music"]
    low = [e for e in gone if e["support"] < MIN_USERS["bad"]]
    same = [e for e in gone if e["support"] >= MIN_USERS["bad"] and e["utterance"] in new]
    assert low and same
    assert told["carried_dropped.below_minimum"] == len(low) and told["carried_dropped.same_words"] == len(same)
    assert told["carried_dropped"] == len(low) + len(same)


def test_an_utterance_has_one_label_a_split_and_none_of_train_stands_in_test(two_days: Path):
    _, bad = releases(two_days)
    held = [e["utterance"] for e in examples(two_days, bad)]
    assert len(held) == len(set(held))


def test_every_gate_is_listed_without_a_clock(two_days: Path):
    _, bad = releases(two_days)
    folder = two_days / "releases" / bad["release_id"]
    gates = json.loads((folder / "gates.json").read_text())
    assert gates == bad["gates"]
    assert [g["gate"] for g in gates if not g["passed"]] == ["domains: not nearly all turns are defective"]
    assert all(g["configured"] == g["evaluated"] for g in gates if "configured" in g)
    assert {g["gate"] for g in gates} >= {f"counts close: {s}" for s in bad["closing"]}
    assert "Quarantined domains" in (folder / "README.md").read_text()


def test_the_bytes_do_not_hang_on_the_buckets(two_days: Path, tmp_path: Path):
    out = copy(two_days, tmp_path / "out")
    before = tree(out / "releases")
    assert run_day(out, "bad", tmp_path, "shuffle.bucket_bytes=60000", "shuffle.mode=native") == 0
    assert tree(out / "releases") == before
    assert len(list((out / "stages" / "release" / "examples").glob("bucket-*"))) > 3


@pytest.fixture
def explained(two_days: Path, capsys: Any) -> Any:
    """The JSON and the text of an explanation."""

    def tell(name: str) -> tuple[dict[str, Any], str]:
        capsys.readouterr()
        assert afterword("explain", name, "--out", two_days, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert afterword("explain", name, "--out", two_days) == 0
        return told, " ".join(capsys.readouterr().out.split())

    return tell


def test_explain_says_that_an_example_was_carried_over_and_from_where(two_days: Path, explained: Any):
    good, bad = releases(two_days)
    held = next(e for e in examples(two_days, bad) if e["domain"] == "music")
    told, said = explained(held["example_id"])
    assert told["quarantine"]["carried_from"] == good["release_id"] and told["typical"] is None
    assert f"carried over from release {good['release_id'][:12]}" in said and "none votes in this run" in said
    assert "quarantined in this release: music (not nearly all turns are defective:" in said
    assert "then `afterword run --from release`" in said
    other = next(e for e in examples(two_days, bad) if e["domain"] != "music")
    told, said = explained(other["example_id"])
    assert told["quarantine"] is None and "carried over from release" not in said


def test_explain_says_that_a_turns_example_was_withheld(two_days: Path, explained: Any):
    _, bad = releases(two_days)
    new = [e for e in pq.read_table(two_days / "stages/curate/examples").to_pylist() if e["domain"] == "music"]
    stands = {e["example_id"] for e in examples(two_days, bad)}
    # An example's id does not hang on its turns, so most that were withheld have one of the parent in their place.
    for held in (
        next(e for e in new if e["example_id"] in stands),
        next(e for e in new if e["example_id"] not in stands),
    ):
        told, said = explained(held["provenance"]["turn_ids"][0])
        became = told["became"]
        assert became["outcome"] == "quarantined" and became["places"] == []
        assert became["quarantine"]["domain"] == "music" and became["example"]["example_id"] == held["example_id"]
        assert became["carried"] == (held["example_id"] if held["example_id"] in stands else None)
        assert "in no example of the release (of a quarantined domain)" in said and "its example was withheld" in said
        assert ("In its place stands the example of the same id" in said) == (became["carried"] is not None)
        assert [v["outcome"] for v in told["same_words"]["labels"] if v["this"]] == ["quarantined"]


def test_explain_sums_the_gates_up_and_shows_the_one_that_failed(two_days: Path, explained: Any):
    _, bad = releases(two_days)
    told, said = explained(examples(two_days, bad)[0]["example_id"])
    assert told["gates"] == bad["gates"]
    held = f"{len(SIGNALS.expectations)} of {len(SIGNALS.expectations)} hold"
    assert (
        f"turns: 12 of 12 hold; signals: {held}; judgements: 14 of 14 hold; examples: 21 of 21 hold; domains: 8 of 9"
        in said
    )
    entry = bad["quarantine"]["domains"]["music"]
    observed = entry["checks"][0]["observed"]
    assert (
        f"failed: domains: not nearly all turns are defective: music {observed}; wanted: defect_share at most 0.9"
        in said
    )
    assert (
        f"quarantined: music; {entry['withheld']} new examples left out, {entry['carried']} carried over from" in said
    )


def test_without_a_parent_nothing_is_carried(two_days: Path, tmp_path: Path, capsys: Any):
    out = copy(two_days, tmp_path / "out")
    shutil.rmtree(out / "releases" / releases(out)[0]["release_id"])
    assert afterword("run", "--out", out, "--from", "release", *settings("bad")) == 0
    said = capsys.readouterr()
    held = json.loads((out / "releases" / (out / "CURRENT").read_text().strip() / "manifest.json").read_text())
    entry = held["quarantine"]["domains"]["music"]
    assert (entry["carried"], held["quarantine"]["carried_from"]) == (0, None)
    assert not [e for e in examples(out, held) if e["domain"] == "music"]
    assert "release: quarantined music (not nearly all turns are defective" in said.err
    assert "quarantined  music" in said.out


def test_a_parent_that_split_its_users_otherwise_gives_nothing(two_days: Path, tmp_path: Path):
    out = copy(two_days, tmp_path / "out")
    assert afterword("run", "--out", out, "--from", "curate", *settings("bad", "curate.test_share=0.3")) == 0
    held = json.loads((out / "releases" / (out / "CURRENT").read_text().strip() / "manifest.json").read_text())
    told = held["counts"]["release"]
    assert told["carried"] == 0 < told["carried_dropped"] == told["carried_dropped.other_split"]


def test_carried_examples_are_held_against_all_others_and_proved(two_days: Path, tmp_path: Path):
    """The parent let near-duplicates stand; this run does not."""
    out = copy(two_days, tmp_path / "out")
    assert afterword("run", "--out", out, "--from", "curate", *settings("bad", "curate.deduplicate=true")) == 0
    release = (out / "CURRENT").read_text().strip()
    held = json.loads((out / "releases" / release / "manifest.json").read_text())
    told, entry = held["counts"]["release"], held["quarantine"]["domains"]["music"]
    assert told["carried_dropped.near_duplicate"] > 0 < told["carried"] == entry["carried"]
    assert told["carried_dropped"] == entry["carried_dropped"]
    assert told["carried_dropped"] == sum(n for k, n in told.items() if k.startswith("carried_dropped."))
    proofs = " ".join(verify(str(out / "releases" / release)))
    assert f"of {told['kept'] + told['carried']:,} examples no two of a label or of two sides" in proofs


def test_damaged_files_of_the_parent_are_not_carried(two_days: Path, tmp_path: Path, capsys: Any):
    out = copy(two_days, tmp_path / "out")
    good, _ = releases(out)
    current = (out / "CURRENT").read_text()
    path = next((out / "releases" / good["release_id"] / "lineage" / "data").glob("train-*"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert afterword("release", "--out", out, *settings("bad")) == 5
    assert "lineage/data/train-00000-of-00001.parquet: not the file that its release lists" in capsys.readouterr().err
    assert (out / "CURRENT").read_text() == current


def test_where_every_domain_is_quarantined_the_release_stops(two_days: Path, tmp_path: Path, capsys: Any):
    out = copy(two_days, tmp_path / "out")
    current = (out / "CURRENT").read_text()
    low = ("--set", "gates.max_defect_share=0.0", "--set", "gates.min_domain_turns=1")
    assert afterword("release", "--out", out, *settings("bad"), *low) == 4
    assert "every domain that has examples is quarantined" in capsys.readouterr().err
    assert (out / "CURRENT").read_text() == current


def test_a_row_that_breaks_its_contract_stops_the_release(two_days: Path, tmp_path: Path, capsys: Any):
    out = copy(two_days, tmp_path / "out")
    current = (out / "CURRENT").read_text()
    before = tree(out / "releases")
    table = pq.read_table(out / "stages" / "label" / "judgements")
    at = table.column_names.index("p_defect")
    broken = pa.array([1.5, *table["p_defect"].to_pylist()[1:]])
    swap(out, "label", "judgements", lambda held: held.set_column(at, "p_defect", broken), JUDGEMENT)
    assert afterword("release", "--out", out, *settings("bad")) == 4
    said = capsys.readouterr().err
    assert "gate judgements: p_defect is in [0, 1]: does not hold" in said
    assert f"1 of {table.num_rows:,} rows looked at; wanted: expect_column_values_to_be_between of column p_def" in said
    assert "report it if it stays" in said and "the last release stays current" in said
    assert (out / "CURRENT").read_text() == current and tree(out / "releases") == before
    told = json.loads((out / "stages" / "release" / "gates.json").read_text())
    assert next(g["gate"] for g in told if not g["passed"]) == "judgements: p_defect is in [0, 1]"


def test_a_table_that_lost_rows_stops_the_release(two_days: Path, tmp_path: Path, capsys: Any):
    out = copy(two_days, tmp_path / "out")
    swap(out, "label", "judgements", lambda held: held.slice(1), JUDGEMENT)
    assert afterword("release", "--out", out, *settings("bad")) == 4
    assert "gate stages: what was kept is in the table" in capsys.readouterr().err


@pytest.fixture
def spoilt(two_days: Path, tmp_path: Path) -> Path:
    """The bad day's release folder, its parent beside it, that a test may spoil."""
    out = copy(two_days, tmp_path / "out")
    return out / "releases" / releases(out)[1]["release_id"]


def change(folder: Path, edit: Any) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    edit(manifest)
    path.write_bytes(storage.readable_json(manifest))


def gate(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return next(g for g in manifest["gates"] if g["gate"] == name)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda m: m["quarantine"]["domains"].clear(), "failed by .'music'., quarantined are none"),
        (lambda m: m["quarantine"]["domains"]["music"].update(carried=1), "the quarantined domain music, 1 were"),
        (lambda m: m["quarantine"]["domains"]["music"].update(withheld=0), "0 examples quarantined by domain"),
        (lambda m: m["quarantine"].update(carried_from="0" * 64), "carried over from 0000"),
        (lambda m: m["quarantine"].update(carried_from=None), "no release is named"),
        (lambda m: m["counts"]["release"].update(carried=0), "lineage: .* rows written"),
        (
            lambda m: m.update(gates=[g for g in m["gates"] if g["gate"] != "counts close: release"]),
            "did not run: .'counts close: release",
        ),
        (
            lambda m: next(g for g in m["gates"] if g.get("configured")).update(evaluated=1),
            "every expectation was evaluated: 1 of 8",
        ),
        (
            lambda m: gate(m, "turns: utterance_length is large enough")["observed"].update(unexpected=1),
            "turns: utterance_length is large enough is said to hold",
        ),
        (
            lambda m: gate(m, "stages: it has the rows that were counted")["observed"].update(value=3),
            "stages: it has the rows that were counted is said to hold",
        ),
        (
            lambda m: gate(m, "domains: not most turns are corrected")["arguments"].update(max_value=1.0),
            "domains: not most turns are corrected asked for .*; the configuration",
        ),
        (
            lambda m: gate(m, "turns: it has the rows that were counted")["arguments"].update(value=1),
            "turns: it has the rows that were counted is said to hold",
        ),
        (
            lambda m: gate(m, "counts close: curate")["out"].update(kept=0),
            "counts close: curate is said to hold",
        ),
        (lambda m: m["domains"]["music"].update(turns=1), r"README\.md: does not follow from the manifest"),
    ],
)
def test_verify_finds_what_does_not_follow(spoilt: Path, edit: Any, says: str):
    assert "but for 1 quarantined domain" in " ".join(verify(str(spoilt)))
    change(spoilt, edit)
    with pytest.raises(VerifyError, match=says):
        verify(str(spoilt))


def test_verify_compares_carried_examples_with_the_parent(spoilt: Path):
    path = next((spoilt / "lineage" / "data").glob("train-*"))
    table = storage.read_table(str(path), EXAMPLE.schema)
    rows = table.select(["domain", "support"]).to_pylist()
    support = [99 if row["domain"] == "music" else row["support"] for row in rows]
    at = table.column_names.index("support")
    table = table.set_column(at, table.schema.field(at), pa.array(support, pa.int32()))
    data = storage.encode(table)
    path.write_bytes(data)
    name = path.relative_to(spoilt).as_posix()
    change(spoilt, lambda m: m["files"][name].update(bytes=len(data), sha256=storage.sha256(data)))
    with pytest.raises(VerifyError, match="an example of a quarantined domain is not as"):
        verify(str(spoilt))
