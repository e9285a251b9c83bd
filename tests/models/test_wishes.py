"""Wishes: how users react is found from scores alone, and tells what was meant where no word is shared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from build import interpretation, turns

from features.said import said as said_of
from features.signals import SignalOptions, signals
from features.timeline import sort
from models.boost import TrainingError
from models.design import OF_CHAIN, CandidateTable, candidate_table, frames
from models.folds import subject_folds
from models.judge import judge
from models.options import TrainOptions
from models.prior import fit_prior
from models.store import dumps, loads
from models.training import train
from models.wish_chain import WishChain
from models.wish_words import WishWords, fit_wish_words, pooled, word_grams
from models.wishes import NAMES, binned, fit_wishes, weak_defects, weak_rights, with_wishes
from schemas import GOLD

INTENTS = tuple(f"intent{k}" for k in range(8))
RATE_AGAIN = 0.8
WORDS = tuple(["lime", "oak", "fir", "ash", "elm", "yew", "bay", "fig", "nut", "may", "sun", "fog"])


def log(users: int = 200, seed: int = 0) -> tuple[pa.Table, list[str]]:
    """Users who say a wish that was missed again in 80%, soon and in quite other words; and what each turn meant."""
    numbers = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    truth: list[str] = []
    for user in range(users):
        at, wish = 0.0, str(numbers.choice(INTENTS))
        for step in range(8):
            others = [i for i in INTENTS if i != wish]
            second = str(numbers.choice(others))
            score = numbers.uniform(0.3, 0.95)
            missed = numbers.random() > score
            first, other = (second, wish) if missed else (wish, second)
            nbest = [interpretation(first, score), interpretation(other, 1 - score)]
            said = " ".join(numbers.choice(WORDS, 4, replace=False))
            common = {"subject_id": f"u{user:03d}", "conversation_id": f"c{user:03d}", "sequence": step, "executed": 0}
            rows.append(common | {"turn_id": f"t{user:03d}-{step}", "at": at, "nbest": nbest, "utterance": said})
            truth.append(wish)
            again = missed and numbers.random() < RATE_AGAIN
            at += numbers.uniform(2, 8) if again else numbers.uniform(12, 40)
            wish = wish if again else str(numbers.choice(INTENTS))
    return sort(turns(*rows)), truth


@pytest.fixture(scope="module")
def held() -> tuple[pa.Table, pa.Table, CandidateTable, np.ndarray, np.ndarray]:
    """Turns, signals, candidates, which candidates were meant, which turns were missed."""
    table, truth = log()
    told = signals(table, SignalOptions(rephrase_likeness=0.0))
    fold = subject_folds(told["subject_id"], 5)
    candidates = candidate_table(told, fit_prior(told, fold, 5), fold)
    names = {}
    for row in table["interpretations"].to_pylist():
        names |= {interpretation["intent"]: None for interpretation in row}
    top = np.array([row[0]["intent"] for row in table["interpretations"].to_pylist()], dtype=object)
    by_id = dict(zip(candidates.candidate_id[candidates.is_top].tolist(), top.tolist(), strict=True))
    meant = np.array([by_id[c] == truth[t] for c, t in zip(candidates.candidate_id, candidates.turn, strict=True)])
    return table, told, candidates, meant, top != np.array(truth, dtype=object)


def test_rates_are_found_without_a_label(held: tuple) -> None:
    _, told, candidates, _, _ = held
    wishes = fit_wishes(told, candidates)
    # The session's last turn has no next; of the others that were missed 80% come again.
    met, missed = wishes.moves[:, 0] / wishes.moves[:, :2].sum(axis=1)
    assert missed == pytest.approx(RATE_AGAIN, abs=0.1)
    assert met < 0.1
    assert wishes.moves.sum(axis=1) == pytest.approx(1.0)


def test_a_repair_in_other_words_says_what_was_meant(held: tuple) -> None:
    _, told, candidates, meant, missed = held
    wishes = fit_wishes(told, candidates)
    p = wishes.posterior(told, candidates)
    chosen = (p >= 0.8) & ~candidates.is_top
    assert chosen.sum() > 150
    assert meant[chosen].mean() > 0.85
    p_defect = weak_defects(with_wishes(told, candidates, wishes), told.num_rows)
    assert missed[p_defect > 0.8].mean() > 0.85
    assert missed[p_defect < 0.2].mean() < 0.15


def test_belief_of_a_turn_is_at_most_one_and_never_missing(held: tuple) -> None:
    _, told, candidates, _, _ = held
    p = fit_wishes(told, candidates).posterior(told, candidates)
    total = np.bincount(candidates.turn, p, minlength=told.num_rows)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert total.max() <= 1.0 + 1e-9


def test_a_session_is_believed_the_same_whatever_stands_beside_it(held: tuple) -> None:
    _, told, candidates, _, _ = held
    wishes = fit_wishes(told, candidates)
    whole = wishes.posterior(told, candidates)
    rows = np.flatnonzero(candidates.turn < 8)
    part = wishes.posterior(told.slice(0, 8).combine_chunks(), candidates.take(rows))
    assert part == pytest.approx(whole[rows], abs=1e-12)


def test_without_a_next_turn_and_with_flat_rates_belief_is_the_score() -> None:
    nbest = [interpretation("a", 0.6), interpretation("b", 0.3)]
    told = signals(turns({"nbest": nbest, "executed": 0}))
    candidates = candidate_table(told)
    wishes = fit_wishes(told, candidates)
    even = wishes.__class__(np.full((2, 3), 1 / 3), wishes.bounds, wishes.reactions, wishes.readings)
    assert even.posterior(told, candidates) == pytest.approx([0.6, 0.3], abs=1e-6)
    assert even.columns(told, candidates)[:, 1] == pytest.approx([0.0, 0.0], abs=1e-4)


def test_lists_without_scores_or_without_anything_are_believed_too() -> None:
    rows = [
        {"nbest": [interpretation("a", None), interpretation("b", None)], "executed": 0},
        {"nbest": []},
        {"nbest": [interpretation("a", 3.0), interpretation("b", 2.0)], "executed": 0},
    ]
    told = signals(turns(*rows))
    candidates = candidate_table(told)
    chain = WishChain.of(told, candidates, 10.0)
    assert chain.emission[:2] == pytest.approx([0.7, 0.2])
    # The turn without a list is asked about what the next one, which is near, was taken for.
    assert chain.emission[2:] == pytest.approx([0.1, 0.597, 0.398])
    assert chain.other == pytest.approx([0.1, 0.9, 0.005])
    assert np.isfinite(fit_wishes(told, candidates).posterior(told, candidates)).all()
    table = with_wishes(told, candidates, fit_wishes(told, candidates))
    assert table.names[-2:] == NAMES
    assert np.isfinite(weak_defects(table, 3)).all()


def test_no_turns_at_all() -> None:
    told = signals(turns({"nbest": [interpretation()], "executed": 0})).slice(0, 0)
    candidates = candidate_table(told)
    assert len(fit_wishes(told, candidates).posterior(told, candidates)) == 0


def test_a_bound_belongs_to_the_bin_above_it_and_null_has_its_own() -> None:
    values = np.array([0.0, 0.5, 0.7, 1.0, np.nan], np.float32)
    assert binned(values, (0.5, 1.0)).tolist() == [0, 1, 1, 2, 3]


def test_models_by_wishes_correct_and_come_back_from_their_file(held: tuple) -> None:
    table, told, _, _, _ = held
    models = train(told, GOLD.empty(), TrainOptions(weak_from="wishes", least_correct=0.8))
    judgements, corrections = judge(table, told, models)
    assert corrections.filter(corrections["accepted"]).num_rows > 100
    again = loads(dumps(models))
    assert again.defect_id == models.defect_id
    assert judge(table, told, again)[0].equals(judgements)


def test_rights_of_wishes_are_probabilities(held: tuple) -> None:
    _, told, candidates, _, _ = held
    rights = weak_rights(with_wishes(told, candidates, fit_wishes(told, candidates)))
    assert ((rights >= 0) & (rights <= 1)).all()


def test_words_of_other_users_tell_what_a_silent_turn_meant() -> None:
    """One word is always taken for c; of those who say it three in four are believed to want a."""
    wrong = [interpretation("c", 0.5), interpretation("a", 0.3), interpretation("b", 0.2)]
    users = [f"u{k:02d}" for k in range(40)]
    rows = [{"subject_id": u, "nbest": wrong, "executed": 0, "utterance": "lime please"} for u in users]
    told = signals(sort(turns(*rows)))
    candidates = candidate_table(told)
    fold = subject_folds(told["subject_id"], 5)
    said, frame = word_grams(pa.array(["lime please"] * len(users))), frames(told, candidates)
    silent = candidates.turn % 4 == 0
    belief = np.where(candidates.entry == np.where(silent, 0, 1), 0.9, 0.05)
    words = fit_wish_words(said, frame, candidates, belief, fold, 5)
    scores = np.tile([0.5, 0.3, 0.2], len(users))
    told_by_words = words.emission(said, frame, candidates, fold, scores)
    assert (told_by_words[candidates.entry == 1] > 0.5).all()
    assert (told_by_words[candidates.entry == 0] < 0.5).all()


def test_what_has_no_frame_is_no_frame_and_keeps_its_score() -> None:
    """The chain's proposals stand in no turn's list, so their frames are not known: they are not one and the same."""
    nbest = [interpretation("a", 0.6), interpretation("b", 0.4)]
    users = [f"u{k:02d}" for k in range(20)]
    told = signals(turns(*({"subject_id": u, "nbest": nbest, "executed": 0, "utterance": u} for u in users)))
    candidates, fold = candidate_table(told), subject_folds(told["subject_id"], 5)
    said = word_grams(pa.array(users))
    proposed = candidates.entry == 1
    candidates = replace(candidates, offset=np.where(proposed, OF_CHAIN, 0))
    frame = frames(told, candidates)
    assert not frame[proposed].any() and frame[~proposed].all()
    words = fit_wish_words(said, frame, candidates, np.full(len(frame), 0.5), fold, 5)
    assert len(words.frames) == 1 and words.frames[0] == frame[0]
    scores = np.where(proposed, 0.4, 0.6)
    got = words.emission(said, frame, candidates, fold, scores)
    assert (got[proposed] == 0.4).all() and (got[~proposed] == 1.0).all()


def test_texts_are_read_alike_however_many_at_a_time(held: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    table, told, candidates, _, _ = held
    said, fold = word_grams(said_of(table, told)["utterance"]), subject_folds(told["subject_id"], 5)
    frame, scores = frames(told, candidates), np.full(len(candidates.turn), 0.4)
    words = fit_wish_words(said, frame, candidates, scores, fold, 5)
    whole = words.emission(said, frame, candidates, fold, scores)
    monkeypatch.setattr("models.wish_words.CHUNK", 7)
    assert (words.emission(said, frame, candidates, fold, scores) == whole).all()
    rows = zip(candidates.turn[:40], np.searchsorted(words.frames, frame[:40]), strict=True)
    each = [words.read(said.counts[[said.text[turn]]], fold[turn])[0, at] for turn, at in rows]
    assert whole[:40] == pytest.approx(np.array(each), abs=1e-12)


def test_counts_of_words_by_value_and_each_fold_reads_the_others() -> None:
    table = turns(*({"nbest": [interpretation(i)], "executed": 0, "utterance": i} for i in ("a", "b")))
    told = signals(table)
    candidates = candidate_table(told)
    held = word_grams(pa.array(["a", "b"]))
    words = fit_wish_words(held, frames(told, candidates), candidates, np.array([1.0, 0.5]), np.array([0, 1]), 2)
    assert words.turns.sum() == pytest.approx(1.5)
    assert words.counts.sum(axis=2).sum() == pytest.approx(held.counts[0].sum() + 0.5 * held.counts[1].sum(), abs=1e-3)
    # Fold 0 knows what fold 1 said alone: b, which it takes anything for.
    b = int(np.flatnonzero(words.turns[1] > 0)[0])
    assert words.read(held.counts, 0)[:, b].min() > 0.5
    again = WishWords.from_plain(words.plain())
    assert (again.counts == words.counts).all()
    assert (again.frames == words.frames).all()


def test_scores_and_words_are_averaged_not_added() -> None:
    both, rest = pooled(np.array([0.64, 0.16]), np.array([0.64, 0.16]), np.array([0.2]), np.array([0, 0]))
    assert both == pytest.approx([0.64, 0.16])
    assert rest == pytest.approx([0.2])


def test_models_by_words_want_them_and_come_back_from_their_file(held: tuple) -> None:
    table, told, _, _, _ = held
    options = TrainOptions(weak_from="words", least_correct=0.8)
    with pytest.raises(ValueError, match=r"train\.weak_from = words wants"):
        train(told, GOLD.empty(), options)
    models = train(told, GOLD.empty(), options, said=said_of(table, told))
    again = loads(dumps(models))
    assert again.defect_id == models.defect_id
    assert judge(table, told, again)[0].equals(judge(table, told, models)[0])


def test_a_log_without_interpretations_has_no_wishes_and_says_so() -> None:
    told = signals(sort(turns(*({"subject_id": f"u{k:02d}", "utterance": "lime"} for k in range(30)))))
    with pytest.raises(TrainingError, match=r"no turn has an interpretation.*train\.weak_from = functions"):
        train(told, GOLD.empty(), TrainOptions(weak_from="wishes"))
