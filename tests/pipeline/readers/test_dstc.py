from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from synthetic import lines

from pipeline.readers.dstc import DstcReader
from schemas import GOLD, LOGGED_TURN, Reason


def hypothesis(city: str, score: float, label: bool, detail: str = "exact_match") -> dict[str, Any]:
    return {
        "slu-hyp": [{"act": "inform", "slots": [["to", city]]}],
        "score": score,
        "label": label,
        "label-source": "auto",
        "detailed-label": detail,
    }


def turn(
    index: int, *hypotheses: dict[str, Any], said: str | None = "go to town", prompt: str = "Where to?"
) -> dict[str, Any]:
    heard = [] if said is None else [{"asr-hyp": "noise", "score": 0.1}, {"asr-hyp": said, "score": 0.8}]
    return {
        "turn-index": index,
        "restart": False,
        "output": {"transcript": prompt, "dialog-acts": [], "start-time": 10.0 * index},
        "input": {
            "start-time": None if said is None else 10.0 * index + 2.5,
            "live": {"asr-hyps": heard, "slu-hyps": list(hypotheses)},
        },
        "label": {"transcription": "", "transcription-status": "transcribed", "slu-labels": []},
    }


def call(*turns: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "session-id": "call-1",
        "session-date": "07-22-2010",
        "session-time": "23:59:55",
        "turns": list(turns),
    } | fields


def read(data: bytes) -> tuple[pa.Table, pa.Table, pa.Table]:
    batches = list(DstcReader().read(io.BytesIO(data), "calls.jsonl"))
    return tuple(pa.concat_tables([getattr(b, part) for b in batches]) for part in ("turns", "gold", "dead"))


def test_a_call_gives_its_turns_hypotheses_best_first():
    turns, _, dead = read(
        lines(
            call(
                turn(0, hypothesis("oslo", 0.2, False), hypothesis("rome", 0.7, True)),
                turn(1, prompt="Rome, right?"),
            )
        )
    )
    assert not dead.num_rows and turns.schema.equals(LOGGED_TURN.schema)
    first, second = turns.to_pylist()
    assert first["turn_id"] == "call-1:0" and first["conversation_id"] == "call-1" and first["user_id"] is None
    assert [(i["intent"], i["slots"][0]["value"], i["score"]) for i in first["interpretations"]] == [
        ("inform", "rome", 0.7),
        ("inform", "oslo", 0.2),
    ]
    assert (first["executed"], first["utterance"]) == (0, "go to town")
    assert [a["text"] for a in first["asr"]] == ["go to town", "noise"]
    assert (first["prompt"], first["response"]) == ("Where to?", "Rome, right?")
    assert (second["executed"], second["interpretations"], second["response"]) == (None, [], None)


def test_time_is_the_calls_start_and_the_turns_seconds_over_midnight():
    turns, _, _ = read(lines(call(turn(1))))
    assert turns["event_time"].to_pylist() == ["2010-07-23T00:00:07.500000"]
    assert DstcReader.zone == "America/New_York"


def test_labels_go_to_gold_and_the_best_hypothesis_says_whether_the_turn_is_wrong():
    _, gold, _ = read(
        lines(call(turn(0, hypothesis("oslo", 0.2, True), hypothesis("rome", 0.7, False, "not_correct"))))
    )
    assert gold.schema.equals(GOLD.schema)
    assert {(r["definition"], r["value"], r["source"]) for r in gold.to_pylist()} == {
        ("wrong_interpretation", 1.0, "transcribed/auto/not_correct"),
        ("right_interpretation", 0.0, "transcribed/auto/not_correct"),
        ("right_interpretation", 1.0, "transcribed/auto/exact_match"),
    }
    assert {r["candidate_id"] is None for r in gold.to_pylist() if r["definition"] == "wrong_interpretation"} == {True}


def test_labels_from_the_callers_own_confirmation_are_left_out():
    _, gold, _ = read(
        lines(call(turn(0, hypothesis("rome", 0.7, True, "auto-expl-conf"), hypothesis("oslo", 0.2, False))))
    )
    assert [(r["definition"], r["value"]) for r in gold.to_pylist()] == [("right_interpretation", 0.0)]


def test_a_reading_that_stands_twice_is_right_where_one_of_them_is():
    _, gold, _ = read(lines(call(turn(0, hypothesis("rome", 0.7, False), hypothesis("rome", 0.2, True)))))
    assert [r["value"] for r in gold.to_pylist() if r["definition"] == "right_interpretation"] == [1.0]


def test_a_silent_turn_has_no_utterance_and_no_time():
    turns, _, _ = read(lines(call(turn(0, said=None))))
    row = turns.to_pylist()[0]
    assert (row["utterance"], row["event_time"], row["asr"]) == ("", None, [])


@pytest.mark.parametrize(
    "broken",
    [
        [],
        "call",
        5,
        None,
        {},
        {"session-id": "x"},
        call(turn(0), **{"session-date": "my pin is 4711"}),
        call({}),
        call(turn(0) | {"input": {}}),
        call(turn(0) | {"output": {"transcript": 4711}}),
        call(turn(0, hypothesis("rome", 0.5, True) | {"score": "my pin is 4711"})),
        call(turn(0) | {"input": {"start-time": 1e300, "live": {"asr-hyps": [], "slu-hyps": []}}}),
        call(turn(0, hypothesis("rome", 0.5, True) | {"slu-hyp": [{"act": "inform", "slots": [["to"]]}]})),
    ],
)
def test_a_malformed_call_is_one_dead_letter_without_its_text_and_the_next_one_is_read(broken: Any):
    turns, gold, dead = read(lines(call(turn(0)), broken, call(turn(0), turn(1))))
    assert turns["source"].to_pylist() == [{"uri": "calls.jsonl", "position": p} for p in (1, 3, 3)]
    letter = dead.to_pylist()[0]
    assert dead.num_rows == 1 and not gold.num_rows
    assert (letter["reason"], letter["source"]["position"]) == (Reason.NOT_A_RECORD, 2)
    assert "4711" not in json.dumps(letter)


def test_lines_that_are_not_json_are_dead_letters_and_blank_ones_nothing():
    _, _, dead = read(b"{bad\n\n" + lines(call(turn(0))) + b"\xff\n")
    assert [(r["reason"], r["source"]["position"]) for r in dead.to_pylist()] == [
        (Reason.INVALID_JSON, 1),
        (Reason.INVALID_JSON, 4),
    ]


def test_a_lone_surrogate_does_not_cost_the_file():
    batch = next(DstcReader().read(io.BytesIO(lines(call(turn(0, said="x\udcb2")))), "c"))
    assert batch.turns["utterance"].to_pylist() == ["x\ufffd"] and batch.replaced == 1


def test_the_real_calls(letsgo: Path):
    with gzip.open(letsgo) as stream:
        turns, gold, dead = read(stream.read())
    readable = gzip.decompress(letsgo.read_bytes()).splitlines()
    logged = [t for line in readable for t in json.loads(line)["turns"]]
    assert turns.num_rows == len(logged) and not dead.num_rows
    assert len(set(turns["turn_id"].to_pylist())) == turns.num_rows
    assert sum(len(i) for i in turns["interpretations"].to_pylist()) == sum(
        len(t["input"]["live"]["slu-hyps"]) for t in logged
    )
    wrong = [r["value"] for r in gold.to_pylist() if r["definition"] == "wrong_interpretation"]
    best = [max(h, key=lambda x: x["score"]) for t in logged if (h := t["input"]["live"]["slu-hyps"])]
    assert len(wrong) == len(best) and sum(wrong) == sum(not h["label"] for h in best)
    assert not any("expl" in r["source"] for r in gold.to_pylist())
