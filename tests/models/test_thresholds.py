from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from models.certify import Threshold, estimate
from models.thresholds import ABSTAIN, Scored, Thresholds, fit_thresholds
from schemas.judgement import BASES


def rows(*parts):
    """One turn a user, half of them early; a part is (domain, turns, score, share right), None for no gold."""
    domain, score, truth, early = [], [], [], []
    for name, n, at, right in parts:
        domain += [name] * n
        score += [at] * n
        truth += [np.nan] * n if right is None else (np.arange(n) // 2 < round(right * n / 2)).astype(float).tolist()
        early += [k % 2 == 0 for k in range(n)]
    names = np.array([f"u{k}" for k in range(len(domain))], object)
    return Scored(
        np.array(score),
        np.array(truth),
        np.ones(len(names), bool),
        np.array(early),
        np.array(domain, object),
        names,
        names,
    )


def fit(*parts, wished=0.9, option=0.5):
    return fit_thresholds(rows(*parts), wished, option, estimate)


def test_a_domain_with_labels_enough_is_proved_by_its_own():
    found = fit(("bus", 200, 0.8, 1.0), ("bus", 200, 0.3, 0.0)).domains["bus"]
    assert (found.basis, found.value, found.certified_at, found.labels) == ("domain", 0.8, 0.8, 100)


def test_29_later_labels_prove_a_domain_and_28_do_not():
    assert fit(("bus", 58, 0.8, 1.0)).domains["bus"].basis == "domain"
    assert fit(("bus", 56, 0.8, 1.0)).domains["bus"].certified_at is None


def test_domains_with_few_labels_share_a_proof():
    found = fit(*((name, 20, 0.8, 1.0) for name in "abcd"), ("dry", 20, 0.8, None))
    assert {found.domains[name].basis for name in "abcd"} == {"pooled"}
    assert found.domains["a"].certified_at == 0.8 and found.pooled.labels == 40
    # The proof says nothing of a domain that had no part in it.
    assert found.domains["dry"].basis == "estimated" and found.domains["dry"].certified_at is None


def test_a_domain_that_is_proved_lends_nothing_to_the_others():
    found = fit(("good", 2000, 0.8, 1.0), ("few", 20, 0.8, 0.5))
    assert found.domains["good"].basis == "domain"
    assert found.domains["few"].certified_at is None and found.pooled.certified_at is None


def test_a_domain_that_is_unlike_the_others_does_not_hide_among_them():
    parts = [(name, 20, 0.8, 1.0) for name in "abcdefghij"]
    # Eight earlier labels, two of them right, are too few for a threshold, and enough to refute the others'.
    found = fit(*parts, ("bad", 16, 0.8, 0.25))
    assert found.domains["bad"].basis == "abstain" and found.domains["a"].basis == "pooled"
    assert found.pooled.precision == 1.0


def test_each_domain_has_its_own_threshold():
    found = fit(
        ("easy", 200, 0.6, 1.0), ("easy", 200, 0.2, 0.0), ("hard", 200, 0.9, 1.0), ("hard", 200, 0.6, 0.5)
    ).domains
    assert (found["easy"].value, found["hard"].value) == (0.6, 0.9)


def test_where_no_threshold_reaches_the_wish_a_domain_abstains():
    found = fit(("good", 400, 0.8, 1.0), ("bad", 200, 0.8, 0.5))
    bad = found.domains["bad"]
    assert (bad.basis, bad.value, bad.certified_at) == ("abstain", ABSTAIN, None)
    limits = found.look_up(pa.array(["bad", "good"]))
    assert (np.array([0.999999, 0.999999]) >= limits.value).tolist() == [False, True]


def test_without_gold_an_option_decides_and_nothing_is_certified():
    found = fit(("bus", 100, 0.8, None), option=0.37)
    assert found.domains["bus"] == found.pooled == Threshold(0.37, 0.9, basis="option")


def test_a_domain_never_seen_gets_the_pooled_threshold_and_is_not_certified():
    found = fit(("bus", 100, 0.8, 1.0))
    pooled = replace(found.pooled, certified_at=0.8, basis="pooled")
    limits = Thresholds(pooled, found.domains).look_up(pa.array(["bus", "train", None]))
    assert limits.basis.to_pylist() == ["domain", "unknown", "unknown"]
    assert limits.value.tolist() == [0.8, pooled.value, pooled.value]
    assert limits.certifies(np.array([0.9, 0.9, 0.9])).tolist() == [True, False, False]


def test_a_domain_seen_only_later_is_unknown():
    late = rows(("bus", 100, 0.8, 1.0), ("train", 100, 0.8, 1.0))
    late = replace(late, early=late.early & (late.domain == "bus"))
    assert set(fit_thresholds(late, 0.9, 0.5, estimate).domains) == {"bus"}


def test_turns_without_a_domain_are_a_domain():
    limits = Thresholds(Threshold(0.5, 0.9), {"(none)": Threshold(0.7, 0.9)}).look_up(pa.chunked_array([["x"], [None]]))
    assert limits.value.tolist() == [0.5, 0.7]


def test_no_rows_have_no_limits():
    limits = Thresholds(Threshold(0.5, 0.9)).look_up(pa.array([], pa.string()))
    assert len(limits.value) == len(limits.basis) == 0


def test_a_row_under_its_own_threshold_is_not_certified_by_a_proof_of_others():
    own = Threshold(0.9, 0.9, certified_at=0.8, basis="pooled")
    limits = Thresholds(own, {"a": own}).look_up(pa.array(["a", "a"]))
    assert limits.certifies(np.array([0.85, 0.9])).tolist() == [False, True]


@pytest.mark.parametrize("wished", [0.0, 1.0])
def test_the_ends_of_the_wish_are_lawful(wished):
    found = fit(("bus", 100, 0.8, 1.0), wished=wished)
    assert found.domains["bus"].basis in BASES
    assert (found.domains["bus"].certified_at is None) == (wished == 1.0)


def test_of_domains_that_miss_the_wish_at_most_5_percent_are_proved():
    generator = np.random.default_rng(4)
    proved = 0
    for _ in range(40):
        n, domains = 240, 5
        names = np.array([f"u{k}" for k in range(n * domains)], object)
        truth = (generator.random(n * domains) < 0.88).astype(float)
        sample = Scored(
            generator.random(n * domains),
            truth,
            np.ones(len(names), bool),
            np.arange(len(names)) % 2 == 0,
            np.repeat([f"d{k}" for k in range(domains)], n).astype(object),
            names,
            names,
        )
        held = fit_thresholds(sample, 0.9, 0.5, estimate).domains.values()
        proved += sum(t.basis == "domain" for t in held)
    assert proved / 200 <= 0.08
