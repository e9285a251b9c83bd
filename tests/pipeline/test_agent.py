"""A log of an LLM agent, end to end: what satisfied is learned, what did not is nowhere."""

from __future__ import annotations

import json
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


def test_only_the_views_that_hold_answers_are_written(release: Path):
    assert {p.name for p in release.iterdir() if p.is_dir()} == {"sft", "lineage"}
    assert {e["kind"] for e in rows(release, "lineage")} == {"answer"}
    card = (release / "README.md").read_text()
    assert "- config_name: sft\n  default: true" in card and "config_name: nlu" not in card
    assert any("no turn before one is defective" in proof for proof in verify(str(release)))


def test_a_defective_answer_is_no_completion_and_in_no_context(release: Path, turns: dict[str, dict[str, Any]]):
    defective = {k for k, t in turns.items() if t["is_defect"]}
    assert len(defective) > 30 and all(WRONG in turns[k]["response"] for k in defective)
    for example in rows(release, "lineage"):
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
    for example in rows(release, "lineage"):
        turn = turns[example["provenance"]["turn_ids"][0]]
        assert (turn["utterance"], turn["response"]) == (example["utterance"], example["response"])
        assert all(turns[t["turn_id"]]["subject_id"] == turn["subject_id"] for t in example["context"])


def test_who_does_not_consent_is_nowhere(release: Path, turns: dict[str, dict[str, Any]]):
    refused = {k for k, t in turns.items() if not t["consent"]}
    assert refused
    for example in rows(release, "lineage"):
        used = {*example["provenance"]["turn_ids"], *(t["turn_id"] for t in example["context"])}
        assert not used & refused


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda e: e["context"][0].update(p_defect=0.99), "in the context of .* has p.defect. 0.99; from .* defective"),
        (lambda e: e["context"][0].update(p_defect=0.3001), "in the context of .* has p.defect. 0.3001, over"),
        (lambda e: e.update(context=e["context"][:1] * 9), "are 9 turns, over curate.context_turns 8"),
        (lambda e: e["context"][0].update(response="x" * 8_000), r"are 8,\d+ chars, over curate.context_chars 8,000"),
        (lambda e: e.update(confidence=0.2), "has p.defect. 0.8"),
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
    change(next(e for e in held if e["context"]))
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
    monkeypatch.setattr("pipeline.writers.sft._fault", lambda messages: "message 2 holds a malformed tool call")
    again = ("release", "--out", spoiled, "--set", "release.shard_bytes=99999999")
    assert afterword(*again) == 4
    assert "message 2 holds a malformed tool call" in capsys.readouterr().err
    assert (spoiled / "CURRENT").read_text() == (out / "CURRENT").read_text()


def test_how_rows_are_shuffled_does_not_change_a_byte(out: Path, tmp_path: Path):
    again = tmp_path / "again"
    log = out.parent / "log"
    many = ("--set", "shuffle.bucket_bytes=20000", "--set", "shuffle.mode=native")
    assert afterword("run", "--input", log, *SETTINGS, "--out", again, *many) == 0
    assert len(list((again / "stages" / "ingest" / "turns").iterdir())) > 3
    assert tree(again / "releases") == tree(out / "releases")
