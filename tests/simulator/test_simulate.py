"""The log as a whole: its form, its rates, its truth."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from small_log import SMALL

from features.interpretation import flatten, hex_id, leading_first
from pipeline.cli import main
from pipeline.readers.canonical import CanonicalReader
from pipeline.transforms.check import check
from schemas import LOGGED_TURN, TRUTH
from simulator.options import Rates, SimulateOptions, SimulatorError, rates
from simulator.reactions import Move, Situation, shares
from simulator.simulate import block, plans, simulate, write_log
from simulator.world import World

ROOT = Path(__file__).parents[2]


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def read(folder: Path) -> tuple[pa.Table, int]:
    """What the canonical reader and the checks make of a log: turns and dead letters."""
    turns, dead = [], 0
    for path in sorted(folder.rglob("part-*")):
        data = pa.input_stream(path, compression="gzip" if path.suffix == ".gz" else None)
        for batch in CanonicalReader().read(data, path.name):
            good, refused = check(batch.turns, None)
            turns.append(good)
            dead += refused.num_rows + (batch.dead.num_rows if batch.dead is not None else 0)
    return pa.concat_tables(turns), dead


def test_the_canonical_reader_takes_every_row(made: Path):
    turns, dead = read(made / "logs")
    assert (turns.num_rows, dead) == (SMALL.turns, 0)
    assert len(pc.unique(turns["turn_id"])) == SMALL.turns


def test_lines_hold_the_same_turns_as_parquet(tmp_path: Path, made: Path, world: World):
    write_log(tmp_path, dataclasses.replace(world, options=dataclasses.replace(SMALL, form="jsonl")))
    packed, dead = read(tmp_path / "logs")
    columns, _ = read(made / "logs")
    assert not dead and packed.drop_columns("source").equals(columns.drop_columns("source"))
    assert files(tmp_path / "truth") == files(made / "truth")


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, made: Path):
    """In a process of its own, so that a salted hash would show."""
    code = (
        "import pathlib; from small_log import SMALL; from simulator.simulate import simulate;"
        f"simulate(pathlib.Path({str(tmp_path)!r}), SMALL)"
    )
    paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert files(tmp_path) == files(made)


def test_another_seed_gives_another_log(world: World):
    other = dataclasses.replace(world, options=dataclasses.replace(SMALL, seed=SMALL.seed + 1))
    plan = next(plans(SMALL))
    (_, one, _), (_, two, _) = block(plan, world), block(plan, other)
    assert (one.recognition != two.recognition).mean() > 0.5


def test_the_truth_lies_apart_and_nothing_of_it_is_in_the_log(made: Path, log: pa.Table, truth: pa.Table):
    assert {p.name for p in made.iterdir()} == {"logs", "truth"}
    assert log.schema.names == [n for n in LOGGED_TURN.names if n != "source"]
    assert truth.schema.names == list(TRUTH.names)
    assert log["turn_id"].equals(truth["turn_id"])


def test_truth_says_what_was_right(log: pa.Table, truth: pa.Table):
    candidates = flatten(leading_first(log["interpretations"], log["executed"]))
    ids = np.array(hex_id(candidates.candidate_id), dtype=object)
    right = np.array(truth["candidate_id"].to_pylist(), dtype=object)
    lead = ids[candidates.offsets[:-1]]
    assert ((lead != right) == np.array(truth["wrong"].to_pylist())).all()
    rank = truth["rank"].to_pylist()
    for row in range(0, len(rank), 7):
        own = ids[candidates.offsets[row] : candidates.offsets[row + 1]].tolist()
        assert own.index(right[row]) == rank[row] if rank[row] is not None else right[row] not in own


def test_spans_are_code_points_of_the_utterance(log: pa.Table, world: World):
    values = {v for group in (world.known.book.wishes) for _, v in group.slots}
    spoken = placed = 0
    for utterance, nbest in zip(log["utterance"].to_pylist(), log["interpretations"].to_pylist(), strict=True):
        for slot in (s for h in nbest for s in h["slots"] if s["name"] != "question"):
            spoken += 1
            if slot["start"] is None:
                continue
            placed += 1
            text = utterance[slot["start"] : slot["end"]]
            assert text and text == text.strip()
            if slot["name"] in ("area", "floor"):
                assert text == slot["value"] and slot["value"] in values
    assert placed > 0.9 * spoken


def test_the_log_is_what_was_asked_for(log: pa.Table, truth: pa.Table):
    rate = SMALL.rates
    requests = truth.filter(pc.equal(truth["move"], "request"))
    assert pc.mean(requests["wrong"]).as_py() == pytest.approx(rate.misread, abs=0.05)
    assert 0.1 < pc.mean(truth["wrong"]).as_py() < 0.3
    wrong = truth.filter(truth["wrong"])
    assert 0.35 < pc.mean(pc.is_valid(wrong["rank"])).as_py() < 0.65
    assert len(pc.unique(truth["domain"])) > 10
    assert 0.9 * SMALL.population < len(pc.unique(log["user_id"])) <= SMALL.population
    moves = set(truth["move"].to_pylist())
    assert moves >= {"request", "rephrase", "repeat", "correct", "deny", "affirm", "cancel", "thank", "refine", "again"}
    assert {"answered", "clarify", "error"} <= set(log["outcome"].to_pylist())
    asr = log["asr"].combine_chunks()
    assert pc.all(pc.less_equal(asr.flatten().field("confidence"), 1.0)).as_py()
    assert log["utterance"].to_pylist() == [h[0]["text"] for h in asr.to_pylist()]


def test_the_same_words_are_misread_for_several_users(log: pa.Table, truth: pa.Table):
    frame = pa.table({"said": truth["said"], "user": log["user_id"], "wrong": truth["wrong"]}).to_pandas()
    wrong = frame[frame.wrong].groupby("said").user.nunique()
    assert (wrong >= 3).sum() > 20


def test_sessions_stand_apart_and_turns_follow_each_other(log: pa.Table):
    frame = log.select(["user_id", "conversation_id", "sequence", "event_time"]).to_pandas()
    frame["at"] = np.array([t[:-1] for t in frame.event_time], dtype="datetime64[ms]").astype(np.int64) / 1e3
    frame = frame.sort_values(["user_id", "at", "sequence"])
    gap = frame["at"].diff()
    same_user = frame.user_id == frame.user_id.shift()
    inside = frame.conversation_id == frame.conversation_id.shift()
    assert gap[inside].between(0.5, 300).all()
    assert (gap[same_user & ~inside] > 300).all()
    assert (frame.sequence.diff()[inside] == 1).all() and (frame.sequence[~inside] == 0).all()


def test_what_users_do_follows_the_rates():
    table = shares(Rates(rephrase=0.5, deny=0.1, thank=0.2))
    assert table.sum(axis=1) == pytest.approx(np.ones(len(Situation)))
    assert table[Situation.WRONGED, Move.REPHRASE] == 0.5 and table[Situation.WRONGED, Move.DENY] == 0.1
    assert table[Situation.SERVED, Move.THANK] == 0.2 and (table >= 0).all()


def test_no_turn_is_cut_short_where_nobody_does(world: World):
    quiet = dataclasses.replace(world.options, rates=Rates(barge_in=0.0, barge_in_right=0.0, confirm=0.0, error=0.0))
    plan = next(plans(quiet))
    _, turns, _ = block(plan, dataclasses.replace(world, options=quiet))
    assert len(turns) == plan.turns and not turns.barge_in.any()


def test_blocks_are_bounded_and_cover_all_turns_and_users():
    for turns in (10_000, 1_000_000, 10_000_000):
        options = SimulateOptions(turns=turns)
        found = list(plans(options))
        assert sum(p.turns for p in found) == turns and max(p.turns for p in found) <= options.block_turns
        for day in range(options.days):
            parts = [p for p in found if p.day == day]
            assert parts[0].first == 0 and parts[-1].last == options.population
            assert all(a.last == b.first for a, b in itertools.pairwise(parts))
    assert len(list(plans(SimulateOptions(files=20)))) >= 20


def test_a_block_does_not_depend_on_what_was_made_before(world: World):
    first, second = list(plans(SMALL))[1], list(plans(SMALL))[2]
    _, alone, _ = block(second, world)
    block(first, world)
    _, after, _ = block(second, world)
    assert (alone.recognition == after.recognition).all() and (alone.pause == after.pause).all()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--turns", "0"], "--turns 0"),
        (["--form", "csv"], "--form csv"),
        (["--rate", "noise=1"], "names: misread"),
        (["--rate", "misread=2"], "a share from 0 to 1"),
        (["--rate", "rephrase=0.9"], "at most 1"),
        (["--turns", "100000", "--users", "10"], "at least"),
    ],
)
def test_a_wrong_option_is_refused_with_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture, wrong: list[str], says: str
):
    assert main(["simulate", "--out", str(tmp_path / "out"), *wrong]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_log_that_is_there_is_not_written_over(made: Path):
    with pytest.raises(SimulatorError, match="is there already"):
        simulate(made, SMALL)


def test_rates_are_read_by_name():
    assert rates(["misread=0.3", "thank=0"]) == Rates(misread=0.3, thank=0.0)


def test_every_rate_is_in_the_docs_with_its_default():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, value in dataclasses.asdict(Rates()).items():
        assert f"| `{name}` | {value} |" in page, name


def test_json_text_of_nested_columns():
    from simulator.jsonl import as_json, lines

    values = pa.array([[{"a": 'say "x"', "b": 1.5}], [], None, [{"a": None, "b": None}, {"a": "\\", "b": 2.0}]])
    text = lines({"v": as_json(values), "k": as_json(pa.array([True, None, False, True]))})
    rows = [json.loads(line) for line in text.splitlines()]
    assert [r["v"] for r in rows] == values.to_pylist() and [r["k"] for r in rows] == [True, None, False, True]


def test_the_files_are_whole_parquet(made: Path):
    assert all(pq.read_metadata(p).num_rows for p in (made / "logs").rglob("*.parquet"))
    assert not list(made.rglob("*.tmp")) and ds.dataset(made / "logs").count_rows() == SMALL.turns
