import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.dawid_skene import dawid_skene

# Answers of five workers to 40 tasks, - for none, and what crowd-kit 1.4.2's DawidSkene makes of them
# (n_iter=2000, tol=0): the tasks whose probability of class 1 is neither 0 nor 1 within 1e-4.
ANSWERS = (
    "00-0- 11111 1000- 111-- 00010 00100 011-1 00000 -0-0- 00100 00000 111-1 -1000 1-0-1 000-1 11111 -1100 00-10 100-1 "
    "00100 110-1 --11- 0-001 00-0- 00101 1-0-1 000-0 11-00 -011- 01-01 0-101 -11-1 11-11 --101 000-1 11111 0-001 -0100 "
    "1100- -10-1"
)
CROWD_KIT = {
    1: 0.9922,
    3: 0.8967,
    11: 0.9463,
    13: 0.6178,
    15: 0.9922,
    20: 0.8526,
    21: 0.7936,
    25: 0.6178,
    31: 0.7958,
    32: 0.9875,
    35: 0.9922,
    39: 0.5609,
}


def _shares(answers):
    counted = np.column_stack([(answers == k).sum(axis=1) for k in (0, 1)]).astype(float)
    return (counted + 1e-12) / (counted + 1e-12).sum(axis=1, keepdims=True)


def test_it_gives_what_crowd_kit_gives():
    answers = np.array([["01-".index(a) if a != "-" else -1 for a in row] for row in ANSWERS.split()])
    found = dawid_skene(answers, _shares(answers))[:, 1]
    wanted = np.zeros(len(answers))
    wanted[list(CROWD_KIT)] = list(CROWD_KIT.values())
    assert np.abs(found - wanted).max() < 0.003


def _made(n=3000, seed=1):
    """Three workers that are right in .95, .6 and .6 of the tasks; the majority is right in .84 of them."""
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < 0.4
    right = generator.random((n, 3)) < [0.95, 0.6, 0.6]
    return np.where(right, truth[:, None], ~truth[:, None]).astype(np.int64), truth


def test_a_good_worker_outvotes_two_poor_ones():
    answers, truth = _made()
    found = dawid_skene(answers, _shares(answers))[:, 1] > 0.5
    majority = answers.sum(axis=1) > 1
    assert (found == truth).mean() > 0.93 > (majority == truth).mean()


def test_that_a_worker_is_silent_tells_where_it_is_an_answer():
    generator = np.random.default_rng(2)
    truth = generator.random(4000) < 0.3
    # Each only ever says 2 ("defect"), else 1 (nothing): among what is said there is no difference to learn from.
    says = np.where(truth[:, None], generator.random((4000, 3)) < 0.7, generator.random((4000, 3)) < 0.1)
    start = np.column_stack([1 - says.mean(axis=1), says.mean(axis=1)])
    found = dawid_skene(says.astype(np.int64) + 1, start)[:, 1]
    assert ((found > 0.5) == truth).mean() > 0.9


@given(st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=1, max_size=12), st.randoms())
def test_rows_are_probabilities_and_follow_their_answers_whatever_the_order(rows, random):
    answers = np.array(rows)
    start = np.full((len(rows), 2), 0.5)
    start[:, 1] = [0.2 + 0.2 * sum(a == 2 for a in row) for row in rows]
    start[:, 0] = 1 - start[:, 1]
    found = dawid_skene(answers, start, steps=20)
    assert np.allclose(found.sum(axis=1), 1.0) and ((found >= 0) & (found <= 1)).all()
    order = list(range(len(rows)))
    random.shuffle(order)
    assert np.allclose(dawid_skene(answers[order], start[order], steps=20), found[order], atol=1e-6)
