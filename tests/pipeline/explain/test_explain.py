"""`afterword explain` on made-up logs: turns and examples of every fate, and what it says when it cannot tell."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from synthetic import afterword, copy

from tests import golden_files


def stage(out: Path, stage: str, table: str) -> Any:
    return pq.read_table(out / "stages" / stage / table)


def current(out: Path) -> str:
    return (out / "CURRENT").read_text().strip()


def lineage(out: Path) -> list[dict[str, Any]]:
    return pq.read_table(out / "releases" / current(out) / "lineage" / "data").to_pylist()


def example(out: Path, **fields: Any) -> dict[str, Any]:
    return next(e for e in lineage(out) if all(e[k] == v for k, v in fields.items()))


@pytest.fixture
def told(capsys: Any) -> Any:
    """The JSON of an explanation."""

    def tell(out: Path, name: str, *more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert afterword("explain", name, "--out", out, "--json", *more) == 0
        return json.loads(capsys.readouterr().out)

    return tell


@pytest.fixture
def text(capsys: Any) -> Any:
    """The text of an explanation."""

    def tell(out: Path, name: str, *more: str) -> str:
        assert afterword("explain", name, "--out", out, *more) == 0
        return capsys.readouterr().out

    return tell


def refused(out: Path, capsys: Any, code: int, name: str, *more: str) -> str:
    assert afterword("explain", name, "--out", out, *more) == code
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def correction(out: Path, accepted: bool) -> dict[str, Any]:
    return stage(out, "label", "corrections").filter(pc.field("accepted") == accepted).to_pylist()[0]


def test_a_corrected_turn_shows_its_support_its_votes_and_its_rows(repaired: Path, told: Any, text: Any):
    row = correction(repaired, accepted=True)
    found = told(repaired, row["turn_id"])
    assert found["kind"] == "turn" and found["support"] == row["supporting_turns"] != []
    candidate = found["candidates"][0]
    assert candidate["accepted"] and candidate["failed"] == [] and candidate["source"] == row["source"]
    assert candidate["interpretation"] == row["interpretation"] and candidate["p_correct"] == row["p_correct"]
    became = found["became"]
    assert became["outcome"] in ("kept", "de_duplicated", "in_train") and became["vote"]["kind"] == "correction"
    said = text(repaired, row["turn_id"])
    assert "-> travel/weather city=" in said and f'supported by {row["supporting_turns"][0]}: "the weather in' in said
    supporting = [line for line in found["dialog"] if line["supports"]]
    assert [line["turn_id"] for line in supporting] == found["support"]
    assert all(line["utterance"] in said for line in found["dialog"])


def test_an_example_of_corrections(repaired: Path, told: Any, text: Any):
    held = example(repaired, kind="correction", split="train")
    found = told(repaired, held["example_id"])
    assert found["kind"] == "example" and {k: found["example"][k] for k in held} == held
    turns = found["turns"]
    assert turns["count"] == turns["found"] == len(held["provenance"]["turn_ids"])
    assert turns["users"] == held["support"] and sum(turns["kinds"].values()) == turns["count"]
    assert turns["defective"] == turns["kinds"]["correction"]
    typical = found["typical"]
    assert typical["became"]["outcome"] == "kept" and typical["became"]["example"] == held
    assert typical["turn"]["utterance"] == held["utterance"] and typical["turn"]["subject_id"] is None
    assert typical["same_words"]["for"] == held["support"]
    assert typical["same_words"]["agreement"] == held["agreement"]
    said = text(repaired, held["example_id"])
    assert "correction (users meant this" in said and f"supported by {held['support']} users" in said
    assert len(said.splitlines()) <= 68


def test_an_example_of_confirmations_and_its_rows(released: Path, told: Any):
    held = example(released, kind="confirmation", split="test")
    found = told(released, held["example_id"])
    assert found["turns"]["kinds"] == {"confirmation": len(held["provenance"]["turn_ids"])}
    assert [p["view"] for p in found["places"]] == ["lineage", "nlu", "rl", "sft", "verl"]
    for place in found["places"]:
        rows = pq.read_table(Path(found["release"]["folder"]) / place["file"]).to_pylist()
        row = rows[place["row"]]
        assert held["example_id"] in (row.get("example_id"), row.get("id"), row.get("key"))


def turns_of_outcome(out: Path, told: Any, wanted: str) -> dict[str, Any]:
    """The first turn that came to some outcome; most are found at once."""
    behind = {t for e in lineage(out) for t in e["provenance"]["turn_ids"]}
    for turn in stage(out, "ingest", "turns")["turn_id"].to_pylist():
        if turn not in behind:
            found = told(out, turn)
            if found["became"]["outcome"] == wanted:
                return found
    raise AssertionError(f"no turn is {wanted}")


def test_a_turn_that_too_few_users_support(released: Path, told: Any, text: Any):
    found = turns_of_outcome(released, told, "below_support")
    assert found["same_words"]["for"] == 1 < found["release"]["config"]["curate"]["min_users"]
    assert found["became"]["example"] is None and found["became"]["places"] == []
    said = text(released, found["id"])
    assert "said by too few users (below_support): its label has 1 user, 2 are wanted" in " ".join(said.split())


def test_a_turn_whose_user_allows_no_learning(released: Path, told: Any):
    found = told(released, "u000-0")
    became = found["became"]
    assert became.pop("outcome") == "no_consent" and became.pop("places") == []
    assert became == dict.fromkeys(("vote", "example", "left_out", "quarantine", "carried"))
    assert found["same_words"]["turns_without_vote"]["no_consent"] >= 1 and found["same_words"]["for"] is None


def test_a_turn_with_no_reading_is_explained_too(released: Path, told: Any, text: Any):
    assert told(released, "odd2")["became"]["outcome"] == "uncertain"
    assert "read as (none)" in text(released, "odd2")


def test_a_defect_with_a_rejected_candidate_says_which_rule_it_failed(repaired: Path, told: Any, text: Any):
    row = correction(repaired, accepted=False)
    found = told(repaired, row["turn_id"])
    tau = found["release"]["thresholds"]["correction"]["value"]
    failed = found["candidates"][0]["failed"]
    assert ("p(correct) is under 0.60" in failed) == (row["p_correct"] < 0.6)
    assert (f"its lead over every other reading is under {tau:.3f}" in failed) == (row["margin"] < tau)
    assert row["p_correct"] < 0.6 or row["margin"] < tau
    assert found["became"]["vote"]["kind"] == "rejection" and found["became"]["outcome"] in ("kept", "de_duplicated")
    said = " ".join(text(repaired, row["turn_id"]).split())
    held = found["became"]["example"]
    assert f"=> judged defective, not corrected; what it did is rejected in example {held['example_id']}" in said
    assert f"its vote: rejection not {held['rejected']['domain']}/{held['rejected']['intent']}" in said
    assert "raise train.weak_threshold (now 0.5), then `afterword run --from train`" in said


def test_the_contributions_are_those_of_the_judgement(repaired: Path, told: Any):
    judged = stage(repaired, "label", "judgements").filter(pc.field("is_defect")).to_pylist()[0]
    signals = told(repaired, judged["turn_id"])["judgement"]["signals"]
    given = {s["signal"]: s["contribution"] for s in signals}
    assert judged["reasons"] and all(given[r["signal"]] == pytest.approx(r["contribution"]) for r in judged["reasons"])
    assert sum(s["share"] for s in signals) == pytest.approx(1.0, abs=0.02)
    sizes = [abs(s["contribution"]) for s in signals]
    assert sizes == sorted(sizes, reverse=True)


def test_without_the_model_file_the_judgement_still_has_its_reasons(
    repaired: Path, tmp_path: Path, told: Any, text: Any
):
    out = copy(repaired, tmp_path / "out")
    (out / "stages" / "train" / "models.json").unlink()
    judged = stage(repaired, "label", "judgements").filter(pc.field("is_defect")).to_pylist()[0]
    signals = told(out, judged["turn_id"])["judgement"]["signals"]
    assert [(s["signal"], s["contribution"]) for s in signals] == [
        (r["signal"], r["contribution"]) for r in judged["reasons"]
    ]
    assert signals[0]["meaning"] in text(out, judged["turn_id"])


def test_other_users_are_counted_and_not_named(repaired: Path, text: Any):
    row = correction(repaired, accepted=True)
    own = row["turn_id"].split("-")[0]
    assert set(re.findall(r"\br\d{3}\b", text(repaired, row["turn_id"]))) == {own}
    assert len(set(re.findall(r"\br\d{3}\b", text(repaired, row["turn_id"], "--turns")))) > 5
    held = example(repaired, kind="correction", split="train")
    assert len(set(re.findall(r"\br\d{3}\b", text(repaired, held["example_id"])))) == 1
    assert set(held["provenance"]["turn_ids"]) <= set(text(repaired, held["example_id"], "--turns").split())


def test_a_prefix_of_eight_characters_names_an_example_and_seven_do_not(repaired: Path, told: Any, capsys: Any):
    held = lineage(repaired)[0]["example_id"]
    assert told(repaired, held[:8])["example"]["example_id"] == held
    refused(repaired, capsys, 3, held[:7])


def test_a_prefix_of_two_examples_is_refused(repaired: Path, tmp_path: Path, capsys: Any):
    out = copy(repaired, tmp_path / "out")
    path = next((out / "releases" / current(out) / "lineage" / "data").glob("train-*"))
    table = pq.read_table(path)
    twins = [f"{'a' * 8}{k:024x}" for k in range(table.num_rows)]
    pq.write_table(table.set_column(0, "example_id", [twins]), path)
    assert f"{table.num_rows} examples begin so" in refused(out, capsys, 3, "a" * 8)
    assert afterword("explain", twins[0], "--out", out) == 0


def test_an_unknown_id_ends_with_3_and_says_what_was_searched(repaired: Path, capsys: Any):
    said = refused(repaired, capsys, 3, "nobody-1")
    assert "nobody-1: no turn_id among the 1,550 turns" in said and "lineage" in said


def test_with_the_stages_gone_the_release_alone_tells(
    repaired: Path, tmp_path: Path, told: Any, text: Any, capsys: Any
):
    out = copy(repaired, tmp_path / "out")
    shutil.rmtree(out / "stages")
    held = example(out, kind="correction", split="train")
    found = told(out, held["example_id"])
    assert found["example"]["support"] == held["support"] and "typical" not in found and len(found["places"]) >= 2
    assert "from the release alone" in found["notes"][0]
    for member, role in (("turn_ids", "voted"), ("supporting_turns", "supports")):
        turn = told(out, held["provenance"][member][0])
        assert turn["kind"] == "turn" and (role, held["example_id"]) in {
            (one["role"], one["example"]["example_id"]) for one in turn["behind"]
        }
    assert "It supports a correction in this example" in text(out, held["provenance"]["supporting_turns"][0])
    behind = {t for e in lineage(out) for t in e["provenance"]["turn_ids"] + e["provenance"]["supporting_turns"]}
    absent = set(stage(repaired, "ingest", "turns")["turn_id"].to_pylist()) - behind
    said = refused(out, capsys, 3, min(absent))
    assert "in the stages alone" in said


def test_stages_of_another_run_are_not_taken_for_the_release(repaired: Path, tmp_path: Path, told: Any):
    out, old = copy(repaired, tmp_path / "out"), current(repaired)
    assert (
        afterword("run", "--out", out, "--from", "curate", "--set", "curate.min_users=3", "--set", "train.folds=2") == 0
    )
    turn = example(repaired, kind="correction", split="train")["provenance"]["turn_ids"][0]
    assert told(out, turn)["notes"] == []
    of_old = told(out, turn, "--release", old[:12])
    assert not of_old["release"]["is_current"] and "another run" in of_old["notes"][0] and "dialog" not in of_old
    # Run again, a stage gives the same; run otherwise, it is of no release yet.
    assert afterword("train", "--out", out, "--set", "train.folds=2") == 0
    assert told(out, turn)["notes"] == []
    assert afterword("train", "--out", out, "--set", "train.folds=3") == 0
    assert "made from another run of train" in told(out, turn)["notes"][0]


def test_what_is_no_release_is_refused(repaired: Path, tmp_path: Path, capsys: Any):
    assert "run `afterword run` first" in refused(tmp_path, capsys, 7, "t")
    assert current(repaired)[:12] in refused(repaired, capsys, 2, "t", "--release", "f" * 64)


def keys(value: Any) -> Any:
    """The keys of every object, lists by their first entry."""
    if isinstance(value, dict):
        # Counts by name, and records that docs/records.md declares.
        open_ended = {
            "example",
            "turns_without_vote",
            "kinds",
            "blames",
            "strongest_signal",
            "config",
            "thresholds",
            "out",
        }
        return {k: None if k in open_ended else keys(v) for k, v in value.items()}
    return [keys(v) for v in value[:1]] if isinstance(value, list) else None


def test_the_golden_explanation(repaired: Path, told: Any):
    folder = golden_files.EXPLAIN
    assert golden_files.explanation() == (folder / "example.txt").read_text(encoding="utf-8"), (
        "run `python -m tests.golden_files` if the text was meant to change"
    )
    held = json.loads((folder / "example.json").read_text(encoding="utf-8"))
    found = told(repaired, example(repaired, kind="correction", split="train")["example_id"])
    assert keys(found) == keys(held), "bring tests/golden/explain/example.json up to what explain gives"


def test_no_line_is_wider_than_the_page(repaired: Path, text: Any):
    said = text(repaired, example(repaired, kind="correction", split="train")["example_id"], "--turns")
    body = said.split("\nrelease ")[0]
    assert max(len(line) for line in body.splitlines()) <= 96


@pytest.mark.long
def test_a_correction_of_the_real_calls(letsgo: Path, tmp_path: Path, told: Any, text: Any):
    out = tmp_path / "out"
    assert afterword("run", "--input", letsgo.parent, "--format", "dstc", "--out", out) == 0
    row = correction(out, accepted=True)
    found = told(out, row["turn_id"])
    assert found["candidates"][0]["accepted"] and found["judgement"]["is_defect"]
    said = text(out, row["turn_id"])
    assert ">!" in said and "Learned from gold." in " ".join(said.split())
    held = example(out, kind="correction")
    told_of = " ".join(text(out, held["example_id"]).split())
    assert f'"{held["utterance"]}" -> bus/' in told_of and "judgements: 14 of 14 hold" in told_of
    assert (
        "What became of it: its row in each view kto kto/data/" in told_of
        and "rl rl/data/" in told_of
        and "What to do next Nothing, if it is right." in told_of
    )
