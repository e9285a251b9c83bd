"""What a group of signals adds is what is lost without it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from build import interpretation, turns

from bench import uss
from bench.ablation import __main__ as command
from bench.ablation import letsgo, rated, simulated
from bench.ablation.groups import EVERY, GROUPS, OTHER, group_of, groups_in, without
from bench.ablation.study import Study, ablate, of_design, table
from features.interpretation import flatten, hex_id
from features.signals import signals
from models.chain import NAMES as CHAIN
from models.design import EVIDENCE, TURN_SIGNALS, Design
from models.folds import subject_folds
from models.prior import NAMES as PRIOR

ALL_COLUMNS = (*TURN_SIGNALS, *(f"top.{name}" for name in (*EVIDENCE, *PRIOR, *CHAIN)), "is_top")


@pytest.mark.parametrize(
    ("column", "group"),
    [
        ("negates_next", "user words"),
        ("sentiment_next", "user words"),
        ("rephrase_next", "rephrase"),
        ("top.rephrase", "rephrase"),
        ("edited_next", "rephrase"),
        ("top.repeats", "n-best"),
        ("is_top", "n-best"),
        ("repeats_next", "rephrase"),
        ("second.prior.value.echo", "pooled prior"),
        ("candidate.chain.words.share", "reformulation chain"),
        ("other.echo", "system words"),
        ("tool_failed", "system words"),
        ("top_score_next", "confidence"),
        ("top.later_echo", "later interpretations"),
        ("slots_kept_next", "later interpretations"),
        ("turns_after", "time"),
        ("vs_top.denied_before", "earlier interpretations"),
        ("of_another_work", OTHER),
    ],
)
def test_a_column_falls_into_a_group(column, group):
    assert group_of(column) == group


def test_every_group_has_columns_and_every_column_of_the_models_a_group():
    assert {group_of(name) for name in ALL_COLUMNS} == set(GROUPS)


def test_a_group_that_is_the_same_in_every_row_is_not_left_out():
    nan = np.nan
    values = np.array([[1, nan, 3, 7, 5], [1, nan, nan, 8, 5]], np.float32)
    design = Design(values, ("negates", "gap_before", "top_score", "top.mass", "of_another_work"))
    assert groups_in(design) == ("confidence", "n-best")


def test_what_is_left_out_is_blank_and_the_rest_as_it_was():
    design = Design(np.arange(6, dtype=np.float32).reshape(2, 3), ("negates", "top_score", "score_margin"))
    assert np.isnan(without(design, "confidence").values).tolist() == [[False, True, True]] * 2
    assert np.isnan(without(design, EVERY).values).all()
    for nothing in (None, "text of answer"):
        assert without(design, nothing).values.tolist() == design.values.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_what_a_group_adds_is_what_is_lost_without_it():
    values = np.random.default_rng(0).random((200, 2)).astype(np.float32)
    design = Design(values, ("negates_next", "top_score"))
    truth = (values[:, 1] > 0.5).astype(float)
    scored = np.arange(200) < 100

    def score(seen: Design, seed: int) -> np.ndarray:
        # Rows that are not scored are all wrong: no figure may read them.
        return np.where(scored, np.nan_to_num(seen.values[:, 1]).astype(float), 1.0 - truth)

    found = ablate(of_design("made", design, score, truth, scored))
    assert (found["made.all.auc"], found["made.without.confidence.auc"]) == (1.0, 0.5)
    assert (found["made.without.confidence.auc.change"], found["made.without.confidence.auc.change.std"]) == (-0.5, 0.0)
    assert found["made.without.user_words.auc.change"] == 0.0


def test_a_change_is_held_against_the_same_seed():
    noise = {1: 0.5, 2: 0.7, 3: 0.9}
    study = Study(
        "made", ("a", "b b"), lambda g, seed: {"top": noise[seed] - {None: 0.0, "a": 0.1, "b b": seed / 10}[g]}
    )
    found = ablate(study, (1, 2, 3))
    assert found["made.all.top"] == pytest.approx(0.7)
    assert found["made.without.a.top"] == pytest.approx(0.6)
    assert found["made.without.a.top.change"] == pytest.approx(-0.1)
    assert found["made.without.a.top.change.std"] == pytest.approx(0.0)
    assert found["made.without.b_b.top.change.std"] == pytest.approx(0.1)
    lines = [line.split() for line in table({key: round(v, 4) for key, v in found.items()}).splitlines()[1:]]
    assert lines[0] == ["made", "-", "top", "0.7000"]
    assert lines[2] == ["made", "b", "b", "top", "0.5000", "-0.2000", "0.1000"]


def said(*reactions: str | None) -> pa.Table:
    n = len(reactions)
    columns = {"turn_id": [str(k) for k in range(n)], "utterance": ["a"] * n, "answer": ["b"] * n}
    return pa.table({**columns, "reaction": pa.array(reactions, pa.string())})


def test_texts_that_are_there_can_be_left_out():
    design = Design(np.array([[0.0], [1.0]], np.float32), ("negates",))
    groups = rated.groups_of(design, said("no", None))
    assert groups == ("user words", EVERY, "text of request", "text of answer", "text of reaction", "all text")
    assert "text of reaction" not in rated.groups_of(design, said(None, None))


def test_a_text_that_is_left_out_is_null():
    held = said("no", "yes")
    few = rated.said_without(held, "text of reaction")
    assert few["reaction"].null_count == 2 and few.schema == held.schema
    assert few.drop(["reaction"]) == held.drop(["reaction"])
    assert [rated.said_without(held, "all text")[c].null_count for c in held.column_names] == [0, 2, 2, 2]
    assert rated.said_without(held, None) == rated.said_without(held, "user words") == held


def write(path: Path, records: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record) + "\n" for record in records)


def dialogs(many: int) -> list[dict]:
    """The user is content exactly where the answer before is 'done'; the reaction is the same."""
    generator = np.random.default_rng(1)
    out = []
    for number in range(many):
        turns = [{"role": "USER", "text": "a table please", "satisfaction": []}]
        for _ in range(6):
            good = bool(generator.random() < 0.5)
            turns.append({"role": "SYSTEM", "text": "done" if good else "perhaps", "satisfaction": []})
            turns.append({"role": "USER", "text": "and a taxi", "satisfaction": [4, 4, 5] if good else [1, 2, 2]})
        out.append({"dialog_id": f"d{number}", "turns": turns})
    return out


def test_the_words_of_the_answer_are_missed_where_they_alone_tell(tmp_path, monkeypatch):
    folds = 3
    monkeypatch.setattr(uss, "FOLDS", folds)
    monkeypatch.setattr(uss.Work, "fold", lambda work: subject_folds(work.judged.subject, folds))
    write(tmp_path / "uss" / "mwoz.jsonl.gz", dialogs(30))
    (study,) = rated.of_uss(tmp_path)
    everything, few = (study.figures(group, 7)["auc"] for group in (None, "text of answer"))
    assert everything > 0.95 and few < 0.7
    assert study.figures("text of reaction", 7)["auc"] > 0.95 and study.figures("all text", 7)["auc"] < 0.7


def traffic(users: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Two turns a user: every second user's first is misread, its second-best hypothesis is right and is said again."""
    rows, meant = [], []
    right, other = (interpretation(intent, 0.5, "light", room="hall") for intent in ("on", "off"))
    for user in range(users):
        missed = user % 2 == 1
        common = {"subject_id": f"s{user:02d}", "conversation_id": f"c{user:02d}", "response": "Done."}
        for step, nbest in enumerate([[other, right] if missed else [right, other], [right, other]]):
            rows.append(common | {"turn_id": f"t{user:02d}{step}", "sequence": step, "at": 9.0 * step, "nbest": nbest})
            rows[-1]["utterance"] = "light on in the hall" if step else "hall light on"
            meant.append((rows[-1]["turn_id"], missed and not step))
    held = turns(*rows)
    best = hex_id(flatten(held["interpretations"].combine_chunks()).candidate_id)[:1] * len(meant)
    truth = {"turn_id": [t for t, _ in meant], "candidate_id": best, "wrong": [w for _, w in meant]}
    return held, signals(held), pa.table(truth).take(pa.array(range(len(meant))[::-1]))


def test_what_was_meant_is_joined_to_the_first_whole_sessions():
    table, wrong, right = simulated.learned_from(*traffic(40), 21)
    assert table.signals["turn_id"].to_pylist() == [f"t{user:02d}{step}" for user in range(10) for step in range(2)]
    assert wrong.tolist() == [0, 0, 1, 0] * 5
    top, own = table.candidates.is_top, table.candidates.offset == 0
    assert right[top].tolist() == (1 - wrong).tolist()
    assert np.bincount(table.candidates.turn[own], right[own]).tolist() == [1.0] * 20
    assert {group_of(name) for name in table.turns.names} >= {"reformulation chain", "pooled prior"}
    assert simulated.learned_from(*traffic(40), 20)[0].signals.num_rows == 20


def test_the_correction_model_takes_the_candidate_that_was_meant():
    table, wrong, right = simulated.learned_from(*traffic(80), 160)
    study = letsgo.corrections("made", table, right, np.ones(len(wrong), bool))
    assert letsgo.VERDICTS in study.groups and "reformulation chain" in study.groups
    assert study.figures(None, 7)["top"] == 1.0 and study.figures(letsgo.VERDICTS, 7)["auc"] > 0.9


def test_works_whose_data_is_absent_are_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "STUDIES", {k: v for k, v in command.STUDIES.items() if k != "simulated"})
    assert command.computed(tmp_path) == {}
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["letsgo", "slurp", "uss", "dbdc3"]
