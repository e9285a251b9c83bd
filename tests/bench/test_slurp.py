"""The SLURP bench on a few made-up recordings."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench import slurp
from bench.alike import alike
from bench.relabels import Truth, relabels
from models.design import CandidateTable
from models.reading import words

SENTENCES = {1: ("wake me at six", "alarm", "set"), 2: ("play jazz", "play", "music"), 3: ("lights on", "iot", "on")}


def write(folder: Path, name: str, rows: list[dict]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / name, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def told(scenario: str, action: str, text: str | None = None) -> dict:
    return {"scenario": scenario, "action": action, "entities": []} | ({"text": text} if text is not None else {})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    sentences = [{"slurp_id": k, "sentence": s, "scenario": d, "action": a} for k, (s, d, a) in SENTENCES.items()]
    write(tmp_path / "slurp", "test.jsonl.gz", sentences)
    live, other = slurp.SYSTEMS[0], slurp.SYSTEMS[3]
    wrong = {live: told("play", "music", "wake me at sex"), other: told("alarm", "set")}
    recordings = [
        {"file": "audio-2.flac", "slurp_id": 1, "predictions": wrong},
        {"file": "audio-1.flac", "slurp_id": 2, "predictions": {live: told("play", "music", "play jazz")}},
        {"file": "audio-3.flac", "slurp_id": 3, "predictions": {other: told("iot", "on")}},
        {"file": "audio-4.flac", "slurp_id": 9, "predictions": {live: told("iot", "on", "lights")}},
        {"file": "audio-5.flac", "slurp_id": 3, "predictions": {live: told("iot", "on", " ")}},
    ]
    write(tmp_path / "slurp", "test_system_predictions.jsonl.gz", recordings)
    write(tmp_path / "slurp", "devel.jsonl.gz", [{"sentence": "six o'clock", "scenario": "alarm", "action": "set"}])
    hwu = [{"text": t, "scenario": "play", "intent": "music"} for t in ("Play, Jazz!", "play rock")]
    write(tmp_path / "hwu64", "hwu64_cv.jsonl.gz", hwu)
    return tmp_path


def test_a_recording_is_a_turn_of_its_own_with_the_systems_as_n_best(data):
    work = slurp.load(data)
    # Without the live system's text, or without its sentence, there is no turn.
    assert work.turns["turn_id"].to_pylist() == ["audio-2.flac", "audio-1.flac"]
    assert work.turns["utterance"].to_pylist() == ["wake me at sex", "play jazz"]
    nbest = [[(h["domain"], h["intent"], h["score"]) for h in hs] for hs in work.turns["interpretations"].to_pylist()]
    assert nbest == [[("play", "music", None), ("alarm", "set", None)], [("play", "music", None)]]
    assert work.table.signals["session_id"].to_pylist() == work.turns["turn_id"].to_pylist()


def test_the_truth_is_the_sentences_intent(data):
    work = slurp.load(data)
    assert work.table.wrong.tolist() == [1.0, 0.0]
    assert work.truth.right.tolist() == [0.0, 1.0, 1.0]
    top = work.table.candidates.is_top.astype(float)
    assert (work.truth.right_share(top), work.truth.right_share(work.truth.right)) == (0.5, 1.0)


def test_rows_with_the_words_of_a_tested_sentence_are_no_training_rows(data):
    known = slurp.load(data).known
    assert known["utterance"].to_pylist() == ["six o clock", "play rock"]
    assert [h[0]["intent"] for h in known["interpretations"].to_pylist()] == ["set", "music"]


def test_without_the_data_there_are_no_figures(tmp_path):
    assert slurp.figures(tmp_path) == {}


def test_without_hwu_the_development_sentences_are_left(data):
    (data / "hwu64" / "hwu64_cv.jsonl.gz").unlink()
    assert slurp.load(data).known["utterance"].to_pylist() == ["six o clock"]


def pairs(turns: int) -> CandidateTable:
    """Two candidates a turn, the first the top one."""
    turn, entry = np.repeat(np.arange(turns), 2), np.tile([0, 1], turns)
    none = np.full(2 * turns, -1)
    return CandidateTable(
        turn, entry, np.zeros_like(turn), turn, none, none, entry == 0, np.zeros((2 * turns, 0), np.float32), ()
    )


def test_relabels_are_cut_by_the_lead_that_the_other_folds_choose():
    turns = 200
    fold = np.arange(turns) % 2
    kind = np.arange(turns) % 8 // 2
    # A likely alternative is right, a less likely one is not, and one without a lead is not asked.
    sure = kind < 2
    right = np.column_stack([~sure, sure]).astype(float).ravel()
    score = np.column_stack([np.choose(kind, [0.05, 0.1, 0.1, 0.5]), np.choose(kind, [0.95, 0.9, 0.4, 0.6])]).ravel()
    truth = Truth(pairs(turns), right, np.ones(turns, bool), fold)
    found = relabels(truth, [score, score])
    assert found.turn.tolist() == [*np.flatnonzero(sure & (fold == 0)), *np.flatnonzero(sure & (fold == 1))]
    assert found.precision == 1.0 and not found.needless.any()
    # Where the other fold has nothing right, nothing of this one is taken.
    none = np.where(np.repeat(fold, 2) == 1, 0.0, right)
    assert (fold[relabels(Truth(truth.candidates, none, truth.scored, fold), [score, score]).turn] == 1).all()


def test_without_a_lead_relabels_are_cut_by_their_score_even_under_the_top_ones():
    turns = 400
    fold, sure = np.arange(turns) % 2, np.arange(turns) % 4 < 2
    # The alternative is right where its score is high, however high the top one's, which is right as well.
    right = np.column_stack([np.ones(turns, bool), sure]).astype(float).ravel()
    score = np.column_stack([np.full(turns, 0.95), np.where(sure, 0.9, 0.1)]).ravel()
    truth = Truth(pairs(turns), right, np.ones(turns, bool), fold)
    found = relabels(truth, [score, score], by_lead=False)
    assert np.sort(found.turn).tolist() == np.flatnonzero(sure).tolist() and found.needless.all()
    assert not len(relabels(truth, [score, score]).turn)


def test_alike_requests_speak_for_each_other_but_not_for_their_own_event():
    held = words(pa.array(["play jazz", "play jazz", "play jazz", "wake me"]))
    frame = np.array([1, 2, 2, 1, 2, 1, 3, 1])
    votes = np.array([1.0, 1, 3, 1, 2, 0, 1, 1])
    event = np.array(["a", "b", "b", "c"], dtype=object)
    got = alike(held, pairs(4), frame, votes, event)
    share = got.values[:, got.names.index("alike.share.0.8")]
    # The first turn hears both others of the event b; they hear the first alone, each half for a frame.
    assert share[:2] == pytest.approx([0.25 / 2.3, 1.75 / 2.3], abs=1e-4)
    assert share[2:6] == pytest.approx([0.5 / 1.3] * 4, abs=1e-4)
    assert share[6:].tolist() == [0.0, 0.0]
