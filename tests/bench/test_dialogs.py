import gzip
import json

import numpy as np
import pytest

from bench import dbdc3, uss
from bench.dialogs import Dialogs, judged_turns, sessions

HI = [
    (False, "hello there"),
    (True, "a table please"),
    (False, "sorry"),
    (False, "which day"),
    (True, "no, a table"),
    (True, "for two"),
    (False, "done"),
    (True, "thanks"),
]


def two_dialogs(said=HI):
    dialogs = Dialogs()
    dialogs.add("a", [(True, "x"), (False, "y")])
    return dialogs, dialogs.add("b", said)


def test_the_system_s_words_belong_to_the_user_s_before_them():
    dialogs, rows = two_dialogs()
    assert dialogs.utterance[2:] == ["", "a table please", "no, a table", "for two", "thanks"]
    assert dialogs.response[2:] == ["hello there", "sorry which day", None, "done", None]
    assert [row - 2 for row in rows] == [0, 1, 1, 1, 2, 3, 3, 4]


def test_a_session_ends_with_the_reaction_and_without_the_answer_to_it():
    dialogs, _ = two_dialogs()
    turns, rows = sessions(dialogs, np.array([3, 5]), with_reaction=True)
    assert turns["utterance"].to_pylist()[:3] == ["", "a table please", "no, a table"]
    assert turns["response"].to_pylist()[:3] == ["hello there", "sorry which day", None]
    assert rows.tolist() == [1, 6]
    assert turns["utterance"].to_pylist()[6:] == ["for two", "thanks"]
    assert len(turns["subject_id"].unique()) == 2


def test_a_session_without_reaction_ends_with_the_judged_answer():
    dialogs, _ = two_dialogs()
    turns, rows = sessions(dialogs, np.array([3, 6]), with_reaction=False)
    assert rows.tolist() == [1, 6]
    assert turns["response"].to_pylist()[:2] == ["hello there", "sorry which day"]
    last, at = sessions(dialogs, np.array([6]), with_reaction=True)
    assert last.num_rows == 5 and at.tolist() == [4]


@pytest.mark.parametrize("with_reaction", [False, True])
def test_what_is_said_later_does_not_change_a_judged_turn(with_reaction):
    short, _ = two_dialogs()
    longer, _ = two_dialogs([*HI, (False, "sorry, that went wrong"), (True, "no no no"), (True, "a table please")])
    judged = np.array([2, 3, 4, 5])
    first, second = (judged_turns(d, judged, with_reaction) for d in (short, longer))
    assert first.signals.equals(second.signals)
    assert first.said.equals(second.said)
    # The reaction itself does change them.
    other, _ = two_dialogs([*HI[:4], (True, "yes, monday"), *HI[5:]])
    third = judged_turns(other, judged, with_reaction)
    assert third.signals.slice(1, 1).equals(first.signals.slice(1, 1)) is not with_reaction


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record) + "\n" for record in records)


def rated(text, *scores):
    return {"role": "USER", "text": text, "action": "SECRET", "satisfaction": list(scores)}


def answered(text):
    return {"role": "SYSTEM", "text": text, "action": "SECRET", "satisfaction": None}


def test_a_rating_is_held_against_the_turn_before(tmp_path):
    dialog = {"dialog_id": "D0", "turns": [rated("hi", 3, 3, 4), answered("what"), rated("no!", 2, 2, 3, 1)]}
    write(tmp_path / "uss" / "sgd.jsonl.gz", [dialog])
    work = uss.load(tmp_path)
    assert work.set.tolist() == ["sgd", "sgd"]
    assert work.low.tolist() == [0.0, 0.75]
    assert work.high.tolist() == [1 / 3, 0.0]
    assert work.mean.tolist() == [10 / 3, 2.0]
    assert [r | {"turn_id": ""} for r in work.judged.said.to_pylist()] == [
        {"turn_id": "", "utterance": "", "answer": None, "reaction": "hi"},
        {"turn_id": "", "utterance": "hi", "answer": "what", "reaction": "no !"},
    ]
    assert work.judged.subject.to_pylist() == ["D0", "D0"]
    assert "SECRET" not in str(work.judged.signals.to_pylist())


def test_the_likeliest_class_is_taken():
    below, above = np.array([0.5, 0.2, 0.1]), np.array([0.3, 0.2, 0.6])
    assert uss.likeliest(below, above).tolist() == [-1.0, 0.0, 1.0]


def test_each_system_turn_is_judged_by_itself(tmp_path):
    def spoken(speaker, text, marks=""):
        return {"speaker": speaker, "utterance": text, "annotations": [{"breakdown": m} for m in marks]}

    turns = [spoken("S", "hello"), spoken("U", "hi"), spoken("S", "what", "OX"), spoken("S", "so what", "TXXX")]
    write(tmp_path / "dbdc3" / "en_dev.jsonl.gz", [{"dialogue-id": "D", "system": "S1", "turns": turns}])
    work = dbdc3.load(tmp_path, "dev", with_reaction=False)
    assert work.shares.tolist() == [[0.5, 0.0, 0.5], [0.0, 0.25, 0.75]]
    assert work.judged.said["answer"].to_pylist() == ["what", "so what"]
    assert work.judged.said["utterance"].to_pylist() == ["hi", ""]


def test_the_divergence_is_0_of_equals_and_1_of_opposites():
    p = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    assert dbdc3.divergence(p, p) == 0.0
    assert dbdc3.divergence(p[:1], np.array([[0.0, 0.5, 0.5]])) == pytest.approx(1.0)


def test_a_system_s_own_mean_is_taken_out():
    shares = np.array([[0.6, 0.2, 0.2], [0.4, 0.2, 0.4], [0.2, 0.2, 0.6], [0.0, 0.2, 0.8]])
    out = dbdc3.without_system(shares, np.array(["a", "a", "b", "b"]))
    np.testing.assert_allclose(out[:2], out[2:])


@pytest.mark.parametrize("work", [uss, dbdc3])
def test_absent_data_gives_no_figures(tmp_path, work):
    assert work.figures(tmp_path) == {}
