"""A log of an LLM agent, end to end: what satisfied is learned, what did not is nowhere."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from agent_log import COMPLAINT, SETTINGS, WRONG, write_log
from synthetic import afterword, copy, tree

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.verify import verify
from schemas import EXAMPLE


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder after one run over the agent's log."""
    folder = tmp_path_factory.mktemp("agent")
    log, out = folder / "log", folder / "out"
    log.mkdir()
    assert afterword("run", "--input", write_log(log), *SETTINGS, "--out", out) == 0
    return out


@pytest.fixture(scope="module")
def release(out: Path) -> Path:
    return next((out / "releases").iterdir())


@pytest.fixture(scope="module")
def turns(out: Path) -> dict[str, dict[str, Any]]:
    """Each turn with its judgement, by id."""
    read = (pq.read_table(out / "stages" / s).to_pylist() for s in ("ingest/turns", "label/judgements"))
    return {t["turn_id"]: t | j for t, j in zip(*read, strict=True)}


def rows(release: Path, view: str) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = pq.read_table(release / view / "data").to_pylist()
    return held


def answers(release: Path) -> list[dict[str, Any]]:
    return [e for e in rows(release, "lineage") if e["kind"] == "answer"]


def test_answers_go_to_sft_alone(release: Path):
    held = {e["example_id"] for e in answers(release)}
    assert len(held) > 100 and held <= {r["id"] for r in rows(release, "sft")}
    labelled = {
        r[k] for view, k in (("nlu", "id"), ("rl", "key")) if (release / view).exists() for r in rows(release, view)
    }
    assert not held & labelled
    assert any("no turn before one is defective" in proof for proof in verify(str(release)))


def test_a_wrong_call_is_corrected_by_what_was_called_when_it_was_asked_again(release: Path):
    corrected = [e for e in rows(release, "lineage") if e["kind"] == "correction"]
    assert corrected and all(WRONG not in json.dumps(e["slots"]) + e["intent"] for e in corrected)


def test_a_defective_answer_is_no_completion_and_in_no_context(release: Path, turns: dict[str, dict[str, Any]]):
    defective = {k for k, t in turns.items() if t["is_defect"]}
    assert len(defective) > 30 and all(WRONG in turns[k]["response"] for k in defective)
    for example in answers(release):
        used = {*example["provenance"]["turn_ids"], *(t["turn_id"] for t in example["context"])}
        assert not used & defective
    text = json.dumps(rows(release, "sft"))
    # The made-up log has no other turn with the same words.
    assert not [k for k in defective if turns[k]["response"] in text]
    assert any(t["response"] in text for k, t in turns.items() if k not in defective)


def test_the_turn_after_a_defective_answer_begins_anew(release: Path, turns: dict[str, dict[str, Any]]):
    begun = [e for e in rows(release, "lineage") if e["utterance"] == COMPLAINT]
    after = [e for e in begun if turns[_before(e["provenance"]["turn_ids"][0])]["is_defect"]]
    assert len(after) > 10 and not any(e["context"] for e in after)
    held = {r["id"]: r["messages"] for r in rows(release, "sft")}
    assert all([m["role"] for m in held[e["example_id"]]] == ["user", "assistant"] for e in after)


def _before(turn_id: str) -> str:
    user, number = turn_id.split("-")
    return f"{user}-{int(number) - 1}"


def test_chat_answers_and_tool_calls_are_learned_with_what_came_before(release: Path, turns: dict[str, dict[str, Any]]):
    calls = [r["messages"] for r in rows(release, "sft") if r["messages"][-1]["tool_calls"]]
    words = [r["messages"] for r in rows(release, "sft") if not r["messages"][-1]["tool_calls"]]
    assert len(calls) > 50 and len(words) > 50 and max(len(m) for m in calls + words) > 5
    for messages in calls:
        function = messages[-1]["tool_calls"][0]["function"]
        assert messages[-1]["content"] is None
        assert set(json.loads(function["arguments"])) == ({"city"} if function["name"] == "get_weather" else set())
    for example in answers(release):
        turn = turns[example["provenance"]["turn_ids"][0]]
        assert (turn["utterance"], turn["response"]) == (example["utterance"], example["response"])
        assert all(turns[t["turn_id"]]["subject_id"] == turn["subject_id"] for t in example["context"])


def test_who_does_not_consent_is_nowhere(release: Path, turns: dict[str, dict[str, Any]]):
    refused = {k for k, t in turns.items() if not t["consent"]}
    assert refused
    for example in rows(release, "lineage"):
        used = {*example["provenance"]["turn_ids"], *(t["turn_id"] for t in example["context"] or [])}
        assert not used & refused


def explained(out: Path, name: str, capsys: Any, *more: str) -> str:
    capsys.readouterr()
    assert afterword("explain", name, "--out", out, *more) == 0
    return str(capsys.readouterr().out)


def test_explain_shows_an_answer_its_context_and_what_it_needed(
    out: Path, release: Path, turns: dict[str, dict[str, Any]], tmp_path: Path, capsys: Any
):
    alone = copy(out, tmp_path / "out")
    shutil.rmtree(alone / "stages")
    in_context = [e for e in answers(release) if len(e["context"]) == 3]
    for called in (True, False):
        held = next(e for e in in_context if (e["domain"] == "tool") == called)
        label = f"call {held['intent']}(" if called else f'answer "{held["response"]}"'
        found = json.loads(explained(out, held["example_id"], capsys, "--json"))
        assert found["example"]["needs"] == {"answer_min_users": 1} and found["example"]["agreement"] is None
        assert [p["view"] for p in found["places"]] == ["kto", "lineage", "sft"]
        before = [t["turn_id"] for t in held["context"]]
        typical = found["typical"]
        assert [line["turn_id"] for line in typical["dialog"] if line["in_context"]] == before
        assert typical["became"]["vote"]["context"] == before and typical["same_words"]["agreement"] is None
        for said in (explained(out, held["example_id"], capsys), explained(alone, held["example_id"], capsys)):
            assert f"  -> {label}" in said and "supported by 1 user (1 wanted), in 1 turn" in said
            assert all(f'"{t["utterance"]}"' in said and t["response"] in said for t in held["context"])
            assert "(no intent)" not in said and "(none)" not in said and "agreement" not in said


def test_explain_shows_the_later_turn_that_a_correction_was_read_in(
    out: Path, release: Path, turns: dict[str, dict[str, Any]], capsys: Any
):
    held = next(e for e in rows(release, "lineage") if e["kind"] == "correction")
    typical = json.loads(explained(out, held["example_id"], capsys, "--json"))["typical"]
    best, turn = typical["candidates"][0], typical["turn"]["turn_id"]
    assert best["accepted"] and best["source"] == "rephrase" and best["interpretation"]["intent"] == held["intent"]
    source = turns[best["taken_from"]]
    assert source["interpretations"][0]["intent"] == held["intent"] and source["event_time"] > turns[turn]["event_time"]
    assert [line["turn_id"] for line in typical["dialog"] if line["gives"]] == [best["taken_from"]]
    said = explained(out, held["example_id"], capsys)
    assert f'the reading of a later turn, {best["taken_from"]}: "{source["utterance"]}"' in " ".join(said.split())
    assert re.search(rf'\n\*  +\S+ +user  "{source["utterance"]}"', said) and "* the correction is its reading" in said


def test_explain_of_a_failed_call_sums_up_answers_of_other_contexts(
    out: Path, turns: dict[str, dict[str, Any]], capsys: Any
):
    failed = next(k for k, t in turns.items() if t["is_defect"] and t["interpretations"])
    said = explained(out, failed, capsys)
    assert "=> judged defective, not corrected; what it did is rejected in example" in said and f"({WRONG}" not in said
    assert re.search(rf"call \w+\((city={WRONG}.*)?\)", said)
    # Other users' votes are for answers in other contexts; those that read the same stand together.
    told = said.partition("Who else said it")[2].partition("What became")[0]
    lines = [line.strip() for line in told.splitlines()]
    assert len(lines) == len(set(lines)) + lines.count("") - 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda e: e["context"][0].update(p_defect=0.99), "in the context of .* has p.defect. 0.99; from .* defective"),
        (lambda e: e["context"][0].update(p_defect=0.3001), "in the context of .* has p.defect. 0.3001, over"),
        (lambda e: e.update(context=e["context"][:1] * 9), "are 9 turns, over curate.context_turns 8"),
        (lambda e: e["context"][0].update(response="x" * 8_000), r"are 8,\d+ chars, over curate.context_chars 8,000"),
        (lambda e: e.update(confidence=0.2, weight=0.2), "has p.defect. 0.8"),
        (lambda e: e.update(support=0), "under the minimum"),
        (lambda e: e["context"][0].update(response="another"), "sft: not the view of the examples in lineage"),
        (lambda e: e.update(domain=None, intent=None, response=""), "sft: cannot be made from the examples in lineage"),
    ],
)
def test_a_promise_that_does_not_hold_is_found_in_the_files_alone(
    release: Path, tmp_path: Path, change: Any, says: str
):
    spoiled = tmp_path / release.name
    for name, data in tree(release).items():
        (spoiled / name).parent.mkdir(parents=True, exist_ok=True)
        (spoiled / name).write_bytes(data)
    path = next((spoiled / "lineage" / "data").glob("train-*"))
    held = storage.read_table(str(path), EXAMPLE.schema).to_pylist()
    change(next(e for e in held if e["context"] and e["kind"] == "answer"))
    data = storage.encode(pa.Table.from_pylist(held, schema=EXAMPLE.schema))
    path.write_bytes(data)
    manifest = json.loads((spoiled / manifests.NAME).read_text())
    manifest["files"][path.relative_to(spoiled).as_posix()] |= {"bytes": len(data), "sha256": storage.sha256(data)}
    (spoiled / manifests.NAME).write_bytes(storage.readable_json(manifest))
    with pytest.raises(VerifyError, match=says):
        verify(str(spoiled))


def test_an_example_that_cannot_be_learned_is_not_published(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    spoiled = copy(out, tmp_path / "out")
    monkeypatch.setattr("pipeline.writers.check._is_object", lambda text: False)
    again = ("release", "--out", spoiled, "--set", "release.shard_bytes=99999999")
    assert afterword(*again) == 4
    assert "holds a malformed tool call. Nothing was published" in capsys.readouterr().err
    assert (spoiled / "CURRENT").read_text() == (out / "CURRENT").read_text()


@pytest.mark.long
def test_how_rows_are_shuffled_does_not_change_a_byte(out: Path, tmp_path: Path):
    again = tmp_path / "again"
    log = out.parent / "log"
    many = ("--set", "shuffle.bucket_bytes=20000", "--set", "shuffle.mode=native")
    assert afterword("run", "--input", log, *SETTINGS, "--out", again, *many) == 0
    assert len(list((again / "stages" / "ingest" / "turns").glob("bucket-*"))) > 3
    assert tree(again / "releases") == tree(out / "releases")
