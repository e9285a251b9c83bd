from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from build import START, interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from features.hashing import pseudonyms
from pipeline.ontology.parse import parse
from pipeline.transforms.answers import ContextOptions
from pipeline.transforms.pool import PoolOptions, pool
from pipeline.transforms.voters import VoteOptions, vote_outcomes
from pipeline.transforms.votes import votes
from schemas import CORRECTION, EXAMPLE, JUDGEMENT, VOTE


def vote(user: str, label: int = 1, **fields: Any) -> dict[str, Any]:
    """One vote for label `label` of the utterance `go`; its turn id is unique a user and label."""
    row = {
        "turn_id": f"{user}-{label}-{fields.get('split', 'train')}-{fields.get('n', 0)}",
        "subject_id": user,
        "split": "train",
        "pool_key": "en\x1fgo",
        "label_id": label,
        "right_id": label,
        "locale": "en",
        "domains": ["d"],
        "utterance": "go",
        "label": interpretation(f"intent{label}"),
        "kind": "confirmation",
        "blame": "none",
        "probability": 0.9,
        "certified": False,
        "policies": [],
        "licences": [],
        "supporting_turns": [],
        "conversations": [f"talk-{user}"],
    }
    fields.pop("n", None)
    return row | fields


def pooled(
    *rows: dict[str, Any], users: int = 2, agreement: float = 0.8, answer_users: int = 1
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Examples as rows, and the outcomes that are not zero."""
    options = PoolOptions(users, agreement, answer_users, "defect", "correction")
    table, outcomes = pool(pa.Table.from_pylist(rows, schema=VOTE.schema), options)
    assert table.schema.equals(EXAMPLE.schema)
    assert sum(outcomes.values()) == len(rows)
    return table.to_pylist(), {k: n for k, n in outcomes.items() if n}


def test_support_counts_users_not_turns():
    examples, outcomes = pooled(vote("a", n=0), vote("a", n=1), vote("a", n=2))
    assert not examples and outcomes == {"below_support": 3}
    examples, outcomes = pooled(vote("a", n=0), vote("a", n=1), vote("b"))
    assert [e["support"] for e in examples] == [2] and outcomes == {"kept": 1, "de_duplicated": 2}


@pytest.mark.parametrize(("users", "kept"), [(2, True), (3, True), (4, False)])
def test_the_least_number_of_users_is_enough(users: int, kept: bool):
    examples, _ = pooled(vote("a"), vote("b"), vote("c"), users=users)
    assert bool(examples) == kept


@pytest.mark.parametrize(("against", "kept"), [(1, True), (2, False)])
def test_the_least_agreement_is_enough(against: int, kept: bool):
    rows = [vote(f"u{k}") for k in range(4)] + [vote(f"v{k}", 2) for k in range(against)]
    examples, outcomes = pooled(*rows)
    assert bool(examples) == kept and outcomes["outvoted"] == against
    if kept:
        assert (examples[0]["agreement"], examples[0]["support"], examples[0]["intent"]) == (0.8, 4, "intent1")


def test_a_user_who_says_both_counts_against_neither():
    examples, outcomes = pooled(vote("a"), vote("b"), vote("b", 2))
    assert [(e["support"], e["agreement"]) for e in examples] == [(2, 1.0)] and outcomes["outvoted"] == 1


def test_a_tie_goes_to_the_more_probable_then_to_the_lower_id():
    rows = [vote("a", 2, probability=0.8), vote("b", 1, probability=0.7)]
    assert pooled(*rows, users=1, agreement=0.5)[0][0]["intent"] == "intent2"
    rows = [vote("a", 2, probability=0.7), vote("b", 1, probability=0.7)]
    assert pooled(*rows, users=1, agreement=0.5)[0][0]["intent"] == "intent1"


def test_support_is_counted_inside_its_split():
    examples, outcomes = pooled(vote("a"), vote("b", split="test"))
    assert not examples and outcomes == {"below_support": 2}


def test_what_train_has_leaves_test_whatever_its_label():
    rows = [vote("a"), vote("b"), vote("c", 2, split="test"), vote("d", 2, split="test")]
    examples, outcomes = pooled(*rows)
    assert [e["split"] for e in examples] == ["train"]
    assert outcomes == {"kept": 1, "de_duplicated": 1, "in_train": 2}


def test_what_train_could_not_keep_stays_in_test():
    examples, _ = pooled(vote("a"), vote("c", split="test"), vote("d", split="test"))
    assert [e["split"] for e in examples] == ["test"]


def test_the_wording_is_the_commonest_then_the_first():
    rows = [vote("a", utterance="Go!"), vote("b", utterance="go"), vote("c", utterance="go")]
    assert pooled(*rows)[0][0]["utterance"] == "go"
    assert pooled(vote("a", utterance="go"), vote("b", utterance="Go!"))[0][0]["utterance"] == "Go!"


def test_an_example_carries_its_evidence():
    rows = [
        vote(
            "b",
            kind="correction",
            blame="asr",
            probability=0.7,
            certified=True,
            policies=["p2"],
            supporting_turns=["z", "y"],
        ),
        vote(
            "a",
            kind="correction",
            blame="asr",
            probability=0.8,
            certified=True,
            policies=["p1"],
            supporting_turns=["z"],
        ),
        vote("c", probability=0.9),
    ]
    example = pooled(*rows)[0][0]
    assert example["provenance"] == {
        "turn_ids": ["a-1-train-0", "b-1-train-0", "c-1-train-0"],
        "supporting_turns": ["y", "z"],
        "domains": ["d"],
        "defect_model_id": "defect",
        "correction_model_id": "correction",
        "policies": ["p1", "p2"],
        "licences": [],
        "subjects": sorted(pseudonyms(np.array(["a", "b", "c"], dtype=object))),
        "conversations": sorted(pseudonyms(np.array([f"conv:talk-{u}" for u in "abc"], dtype=object))),
    }
    assert (example["kind"], example["blame"], example["certified"]) == ("correction", "asr", True)
    assert example["confidence"] == example["weight"] == 0.8


def test_certified_means_every_correction_was():
    rows = [vote(u, kind="correction", blame="intent", certified=u == "a") for u in "ab"]
    assert pooled(*rows)[0][0]["certified"] is False
    assert pooled(vote("a"), vote("b"))[0][0]["certified"] is False


def rejection(user: str, label: int = 1, **fields: Any) -> dict[str, Any]:
    """A vote against label `label` of the utterance `go`."""
    wrong = {"domain": "d", "intent": f"intent{label}", "slots": [], "response": None}
    row = {"kind": "rejection", "label": None, "rejected": wrong, "rejected_id": label, "blame": "intent"}
    row["right_id"] = None
    return vote(user, label, **fields) | row | {"pool_key": "en\x1fgo\x1frejection"}


def test_what_was_wrong_is_an_example_of_its_own():
    examples, outcomes = pooled(vote("a"), vote("b"), rejection("c", 2, certified=True))
    by_kind = {e["kind"]: e for e in examples}
    assert by_kind["confirmation"]["agreement"] == 1.0 and by_kind["confirmation"]["rejected"] is None
    wrong = by_kind["rejection"]
    assert (wrong["rejected"]["intent"], wrong["intent"], wrong["support"]) == ("intent2", None, 1)
    assert (wrong["agreement"], wrong["blame"], wrong["certified"]) == (None, "intent", True)
    assert outcomes == {"kept": 2, "de_duplicated": 1}


@pytest.mark.parametrize("split", ["train", "test"])
def test_nothing_is_rejected_that_others_have_for_right(split: str):
    examples, outcomes = pooled(vote("a"), vote("b"), rejection("c", split=split))
    assert [e["kind"] for e in examples] == ["confirmation"] and outcomes["contradicted"] == 1


def test_one_user_does_not_reject_what_more_have_for_right():
    # Neither has enough users to be released, yet two speak for it.
    assert pooled(vote("a"), vote("b"), rejection("c"), users=3)[1] == {"below_support": 2, "contradicted": 1}
    two_against = [rejection("c"), rejection("d")]
    examples, _ = pooled(vote("a"), *two_against, users=3)
    assert [(e["kind"], e["support"]) for e in examples] == [("rejection", 2)]


def preference(user: str, right: int, wrong: int) -> dict[str, Any]:
    """A vote for answer `right` over answer `wrong` to the same words."""
    key = {"pool_key": "en\x1fgo\x1fbefore\x1fpreference", "label_id": 100 * right + wrong}
    told = {"domain": None, "intent": None, "slots": [], "response": f"answer {wrong}"}
    return vote(user, right) | key | {"kind": "preference", "rejected": told, "rejected_id": wrong, "label": None}


def test_preferences_that_contradict_each_other_are_none():
    examples, outcomes = pooled(preference("a", 1, 2), preference("b", 2, 1))
    assert not examples and outcomes == {"contradicted": 2}
    assert len(pooled(preference("a", 1, 2), preference("b", 1, 2))[0]) == 1


def test_what_others_were_well_served_by_is_not_dispreferred():
    answer = [vote(u, 2) | {"pool_key": "en\x1fgo\x1fbefore", "kind": "answer", "response": "x"} for u in "bcd"]
    examples, outcomes = pooled(preference("a", 1, 2), *answer)
    assert [e["kind"] for e in examples] == ["answer"] and outcomes["contradicted"] == 1


def test_a_rejection_of_words_that_train_has_leaves_test():
    assert pooled(vote("a"), vote("b"), rejection("c", 2, split="test"))[1]["in_train"] == 1


def test_an_example_rejects_what_most_of_its_turns_had_done():
    wrong = {k: {"domain": "d", "intent": k, "slots": [], "response": None} for k in "xy"}
    did = (("a", "y"), ("b", "x"), ("c", "x"))
    rows = [vote(user, kind="correction", rejected=wrong[w], rejected_id=ord(w)) for user, w in did]
    assert pooled(*rows, vote("d"))[0][0]["rejected"]["intent"] == "x"
    assert pooled(*rows[:2])[0][0]["rejected"]["intent"] == "y"


def test_other_words_locales_and_labels_are_other_examples():
    rows = [
        vote(u, pool_key=key, label_id=label)
        for u in "ab"
        for key, label in (("en\x1fgo", 1), ("de\x1fgo", 1), ("en\x1fno", 1))
    ]
    rows = [r | {"turn_id": f"{k}"} for k, r in enumerate(rows)]
    examples, _ = pooled(*rows)
    assert len({e["example_id"] for e in examples}) == 3
    assert [e["example_id"] for e in examples] == sorted(e["example_id"] for e in examples)


def test_the_id_of_an_example_is_pinned():
    assert pooled(vote("a"), vote("b"))[0][0]["example_id"] == "a88993c6f527712a0ed2559cb7402b8a"


def test_no_votes_give_nothing():
    assert pooled() == ([], {})


VOTES = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.integers(1, 3),
        st.sampled_from(["en\x1fx", "en\x1fy"]),
        st.sampled_from([0.5, 0.7, 0.9]),
    ),
    max_size=14,
)


def brute_force(
    rows: list[dict[str, Any]], users: int, agreement: float
) -> tuple[set[tuple[str, str, int]], Counter[str]]:
    """The rule of `pool` in plain Python: kept (split, key, label) and outcomes."""
    said: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        said[row["split"], row["pool_key"]][row["label_id"]].append(row)
    outcomes: Counter[str] = Counter()
    kept: dict[tuple[str, str], tuple[int, int]] = {}
    for utterance, labels in said.items():
        everyone = {r["subject_id"] for votes in labels.values() for r in votes}

        def rank(label: int, labels: dict[int, list[dict[str, Any]]] = labels) -> tuple[float, ...]:
            support = len({r["subject_id"] for r in labels[label]})
            return (-support, -round(sum(r["probability"] for r in labels[label]) / len(labels[label]), 6), label)

        winner = min(labels, key=rank)
        support = -rank(winner)[0]
        for label, cast in labels.items():
            if label != winner:
                outcomes["outvoted"] += len(cast)
        if support < users:
            outcomes["below_support"] += len(labels[winner])
        elif round(support / len(everyone), 6) < agreement:
            outcomes["disagreement"] += len(labels[winner])
        else:
            kept[utterance] = (winner, len(labels[winner]))
    for (split, key), (_, cast) in list(kept.items()):
        if split == "test" and ("train", key) in kept:
            outcomes["in_train"] += cast
            del kept[split, key]
        else:
            outcomes["kept"] += 1
            outcomes["de_duplicated"] += cast - 1
    return {(s, k, label) for (s, k), (label, _) in kept.items()}, +outcomes


@given(VOTES, st.integers(1, 3), st.sampled_from([0.0, 0.5, 0.6, 0.8, 1.0]))
def test_pooling_is_its_rule(cast: list[tuple[str, int, str, float]], users: int, agreement: float):
    rows = [
        vote(user, label, pool_key=key, probability=p, split="test" if user in "ef" else "train") | {"turn_id": f"t{k}"}
        for k, (user, label, key, p) in enumerate(cast)
    ]
    examples, outcomes = pooled(*rows, users=users, agreement=agreement)
    kept, expected = brute_force(rows, users, agreement)
    assert outcomes == dict(expected)
    key = {r["turn_id"]: (r["split"], r["pool_key"], r["label_id"]) for r in rows}
    assert {key[e["provenance"]["turn_ids"][0]] for e in examples} == kept
    assert pooled(*reversed(rows), users=users, agreement=agreement)[0] == examples


# votes


def judged(
    table: pa.Table, p_defect: list[float], accepted: dict[int, dict[str, Any]] | None = None
) -> tuple[pa.Table, pa.Table]:
    """Judgement and Correction rows of turns."""
    rows = [
        {
            "turn_id": t,
            "model_id": "m",
            "subject_id": s,
            "session_id": "s",
            "event_time": e,
            "p_defect": p,
            "threshold": 0.5,
            "threshold_basis": "option",
            "is_defect": p >= 0.5,
            "certified": False,
            "blame": "intent" if p >= 0.5 else "none",
            "reasons": [],
        }
        for t, s, e, p in zip(
            *(table[c].to_pylist() for c in ("turn_id", "subject_id", "event_time")), p_defect, strict=True
        )
    ]
    corrections = [
        {
            "turn_id": table["turn_id"][k].as_py(),
            "candidate_id": "c",
            "model_id": "m",
            "interpretation": reading,
            "source": "n-best",
            "p_correct": 0.75,
            "margin": 0.5,
            "accepted": True,
            "certified": False,
            "supporting_turns": ["later"],
        }
        for k, reading in (accepted or {}).items()
    ]
    return (
        pa.Table.from_pylist(rows, schema=JUDGEMENT.schema),
        pa.Table.from_pylist(corrections, schema=CORRECTION.schema),
    )


def cast(
    rows: list[dict[str, Any]], p_defect: list[float], accepted: dict[int, dict[str, Any]] | None = None, **options: Any
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    table = turns(*({"nbest": [interpretation("go"), interpretation("stop")], "executed": 0} | r for r in rows))
    defaults = {"confirm_below": 0.05, "test_share": 0.0, "context": ContextOptions(8, 8000, 0.2)}
    given = VoteOptions(**(defaults | options))
    got, outcomes = votes(table, *judged(table, p_defect, accepted), given)
    assert got.schema.equals(VOTE.schema) and sum(outcomes.values()) == len(rows)
    assert got.num_rows == outcomes.get("vote", 0)
    return got.to_pylist(), outcomes


def test_a_sure_turn_votes_for_what_was_executed_an_unsure_one_does_not():
    rows, outcomes = cast([{"executed": 1}, {}, {}], [0.05, 0.0501, 0.4])
    assert [(r["label"]["intent"], r["kind"], r["probability"]) for r in rows] == [("stop", "confirmation", 0.95)]
    assert outcomes == {"vote": 1, "uncertain": 2}


def test_a_defective_turn_votes_against_what_was_executed():
    rows, outcomes = cast([{"executed": 1}, {"executed": None}], [0.9, 0.8])
    wrong, nothing = rows
    assert wrong["rejected"]["intent"] == "stop" and wrong["label"] is None and wrong["response"] is None
    assert (wrong["kind"], wrong["probability"], wrong["blame"]) == ("rejection", 0.9, "intent")
    assert (
        wrong["label_id"] == wrong["rejected_id"]
        and wrong["right_id"] is None
        and wrong["pool_key"].endswith("\x1frejection")
    )
    assert nothing["kind"] == "rejection" and nothing["rejected"] is None and nothing["rejected_id"] is None
    assert outcomes == {"vote": 2}


def test_a_correction_says_what_it_stands_in_for():
    row = cast([{"executed": 1}], [0.9], {0: interpretation("fix")})[0][0]
    assert (row["label"]["intent"], row["rejected"]["intent"]) == ("fix", "stop")


def test_an_accepted_correction_votes_even_where_the_turn_is_unsure():
    rows, _ = cast([{}, {}], [0.9, 0.3], {0: interpretation("fix")})
    assert [(r["label"]["intent"], r["kind"], r["blame"], r["probability"], r["supporting_turns"]) for r in rows] == [
        ("fix", "correction", "intent", 0.75, ["later"])
    ]


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"consent": False}, "no_consent"),
        ({"excluded": "no_consent"}, "no_consent"),
        ({"excluded": "expired"}, "expired"),
        ({"excluded": "probe"}, "excluded"),
        ({"utterance": "?!"}, "no_words"),
        ({"executed": None}, "uncertain"),
        ({"nbest": []}, "uncertain"),
        ({"nbest": [interpretation("go") | {"intent": None}]}, "uncertain"),
        ({"nbest": [None]}, "uncertain"),
        ({"nbest": [interpretation("")]}, "uncertain"),
        ({"nbest": [interpretation(" \t\u00a0")]}, "uncertain"),
        ({"nbest": [interpretation("", domain=None)]}, "uncertain"),
        ({"nbest": [interpretation(" ", domain="tool")]}, "uncertain"),
        ({"consent": True}, "vote"),
        ({"consent": None}, "vote"),
    ],
)
def test_why_a_turn_casts_no_vote(fields: dict[str, Any], outcome: str):
    fields = fields | ({"executed": None} if fields.get("nbest") == [] else {})
    assert cast([fields], [0.0])[1] == {outcome: 1}


@pytest.mark.parametrize("intent", [None, "", " "])
@pytest.mark.parametrize("domain", ["d", "tool", None])
def test_a_correction_without_an_intent_is_no_label(intent: str | None, domain: str | None):
    reading = interpretation("x", domain=domain) | {"intent": intent}
    assert [r["kind"] for r in cast([{}], [0.9], {0: reading})[0]] == ["rejection"]


def supported(*later: dict[str, Any], by: list[str], first: dict[str, Any] | None = None, **options: Any) -> list[str]:
    """Outcomes of a corrected turn and later turns of the user, `by` naming those that support the correction."""
    rows = [{"subject_id": "u"} | r for r in (first or {}, *later)]
    table = turns(*({"nbest": [interpretation("go"), interpretation("stop")], "executed": 0} | r for r in rows))
    judgements, corrections = judged(table, [0.9] + [0.0] * len(later), {0: interpretation("fix")})
    column = pa.array([by], corrections.schema.field("supporting_turns").type)
    corrections = corrections.set_column(corrections.column_names.index("supporting_turns"), "supporting_turns", column)
    given = VoteOptions(
        **({"confirm_below": 0.05, "test_share": 0.0, "context": ContextOptions(8, 8000, 0.2)} | options)
    )
    found = vote_outcomes(table, judgements, corrections, given).tolist()
    cast, counted = votes(table, judgements, corrections, given)
    assert counted == dict(Counter(found))
    assert cast["turn_id"].to_pylist() == [f"t{k:03d}" for k, o in enumerate(found) if o == "vote"]
    return found


@pytest.mark.parametrize("by", [["t001"], ["t002", "t001"], ["t001", "t002"]])
def test_a_correction_that_a_turn_without_consent_supports_casts_no_vote(by: list[str]):
    assert supported({"consent": False}, {"consent": True}, by=by) == ["no_consent", "no_consent", "vote"]
    assert supported({"consent": None}, {}, by=by) == ["vote"] * 3


def test_a_correction_that_a_turn_supports_which_was_to_be_deleted_casts_no_vote():
    assert supported({"excluded": "expired"}, {}, by=["t001"]) == ["expired", "expired", "vote"]


def test_turns_that_do_not_support_a_correction_do_not_bar_it():
    assert supported({"consent": False}, {}, by=["t002"]) == ["vote", "no_consent", "vote"]
    assert supported({"consent": False}, by=[]) == ["vote", "no_consent"]


@pytest.mark.parametrize(("share", "outcomes"), [(0.0, ["outside_split"] * 2), (1.0, ["outside_split", "vote"])])
def test_a_correction_that_a_turn_beyond_the_cut_supports_casts_no_vote(share: float, outcomes: list[str]):
    cut = START + timedelta(seconds=100)
    assert supported({"at": 100.0}, by=["t001"], test_from=cut, test_share=share) == outcomes
    assert supported({"at": 99.0}, by=["t001"], test_from=cut) == ["vote"] * 2


def test_equal_words_pool_and_locales_part_them():
    rows, _ = cast(
        [{"utterance": "Go, now!"}, {"utterance": "go now"}, {"utterance": "go now", "locale": "de"}], [0.0] * 3
    )
    keys = [r["pool_key"] for r in rows]
    assert keys[0] == keys[1] != keys[2]


def test_a_user_is_on_one_side_of_the_split():
    rows, _ = cast([{"subject_id": f"u{k % 50}"} for k in range(200)], [0.0] * 200, test_share=0.3)
    sides = defaultdict(set)
    for row in rows:
        sides[row["subject_id"]].add(row["split"])
    assert all(len(s) == 1 for s in sides.values())
    assert {s for side in sides.values() for s in side} == {"train", "test"}


def test_a_larger_share_only_moves_users_from_train_to_test():
    subjects = [{"subject_id": f"u{k}"} for k in range(300)]
    small, large = (
        {r["subject_id"] for r in cast(subjects, [0.0] * 300, test_share=s)[0] if r["split"] == "test"}
        for s in (0.1, 0.4)
    )
    assert small < large and 90 < len(large) < 150


def test_a_cut_in_time_keeps_early_train_and_late_test():
    rows = [{"subject_id": f"u{k}", "at": at} for k in range(100) for at in (0.0, 100.0)]
    kept, outcomes = cast(rows, [0.0] * 200, test_share=0.3, test_from=START + timedelta(seconds=100))
    assert outcomes == {"vote": 100, "outside_split": 100}
    assert {(r["split"], int(r["turn_id"][1:]) % 2) for r in kept} == {("train", 0), ("test", 1)}


def test_votes_do_not_depend_on_numpy_order():
    rows, _ = cast([{"utterance": w} for w in "abc"], [0.0, 0.9, 0.0], {1: interpretation("fix")})
    assert [r["turn_id"] for r in rows] == ["t000", "t001", "t002"]
    assert np.isfinite([r["probability"] for r in rows]).all()


def test_the_same_words_under_another_locale_leave_test_too():
    rows = [vote("a", pool_key="en\x1fgo"), vote("b", pool_key="en\x1fgo")]
    rows += [vote(user, pool_key="\x1fgo", split="test", locale=None) for user in "cd"]
    examples, outcomes = pooled(*rows)
    assert [e["split"] for e in examples] == ["train"]
    assert outcomes["in_train"] == 2


# answers


def answer(user: str, label: int = 1, **fields: Any) -> dict[str, Any]:
    """One vote for an answer in words."""
    row = vote(user, label, kind="answer", pool_key="en\x1fgo\x1fcontext", response="gone", context=[])
    row |= {"label": None}
    return row | {"turn_id": f"{user}-answer-{label}-{fields.get('split', 'train')}"} | fields


def test_an_answer_needs_its_own_number_of_users():
    examples, outcomes = pooled(answer("a"), users=9)
    assert outcomes == {"kept": 1} and examples[0]["support"] == 1
    assert pooled(answer("a"), answer("a", turn_id="again"), answer_users=2)[1] == {"below_support": 2}


def test_several_answers_to_the_same_words_stand_side_by_side_and_beside_a_label():
    rows = [answer("a", 1), answer("b", 2, response="went"), vote("a"), vote("b")]
    examples, outcomes = pooled(*rows)
    assert sorted((e["kind"], e["response"]) for e in examples if e["kind"] == "answer") == [
        ("answer", "gone"),
        ("answer", "went"),
    ]
    assert [e["agreement"] for e in examples if e["kind"] != "answer"] == [1.0]
    assert outcomes == {"kept": 3, "de_duplicated": 1} and len({e["example_id"] for e in examples}) == 3


def test_an_answer_carries_what_was_said_and_no_agreement():
    context = [{"turn_id": "t", "utterance": "hi", "tool": None, "arguments": None, "response": "yes"}]
    context[0] |= {"p_defect": 0.1, "domain": "(none)"}
    example = pooled(answer("a", context=context))[0][0]
    assert (example["kind"], example["blame"], example["certified"]) == ("answer", "none", False)
    assert (example["domain"], example["intent"], example["slots"]) == (None, None, [])
    assert (example["response"], example["context"]) == ("gone", context)
    assert (example["agreement"], example["solve_rate"]) == (None, None)
    assert example["confidence"] == 0.9


def test_an_answer_leaves_test_where_train_has_the_same_words_in_the_same_context():
    other = "en\x1fgo\x1fother context"
    rows = [answer("a"), answer("b", 2, split="test"), answer("c", split="test", pool_key=other)]
    examples, outcomes = pooled(*rows, vote("d", split="test"), vote("e", split="test"))
    assert outcomes == {"kept": 3, "de_duplicated": 1, "in_train": 1}
    assert {(e["split"], e["kind"]) for e in examples} == {
        ("train", "answer"),
        ("test", "answer"),
        ("test", "confirmation"),
    }


def test_the_solve_rate_is_the_share_of_turns_that_needed_no_correction():
    rows = [vote("a"), vote("b", kind="correction", blame="asr"), vote("c"), vote("d")]
    assert pooled(*rows)[0][0]["solve_rate"] == 0.75
    assert pooled(vote("a"), vote("b"))[0][0]["solve_rate"] == 1.0
    fixed = [vote(u, kind="correction", blame="asr") for u in "ab"]
    assert pooled(*fixed)[0][0]["solve_rate"] == 0.0
    # What was called right at once is an answer, so nobody counted it.
    assert pooled(*(r | {"label": interpretation("x", domain="tool")} for r in fixed))[0][0]["solve_rate"] is None


ONTOLOGY = parse(
    {"domains": {"d": {"intents": {"go": ["city"], "fix": []}}}, "retired": [{"intent": "stop"}, {"slot": "gate"}]}, "o"
)


@pytest.mark.parametrize(
    ("fields", "reading", "outcome"),
    [
        ({}, None, "vote"),
        ({"executed": 1}, None, "unknown_label"),
        ({"nbest": [interpretation("go", gate="7")]}, None, "unknown_label"),
        ({}, interpretation("fix"), "vote"),
        ({"executed": 1}, interpretation("fix"), "vote"),
        ({}, interpretation("stop"), "unknown_label"),
        ({}, interpretation("sing"), "unknown_label"),
        ({}, interpretation("go", street="x"), "unknown_label"),
        ({"executed": None}, None, "uncertain"),
        ({"executed": 1, "consent": False}, None, "no_consent"),
        ({"executed": 1, "utterance": "?"}, None, "no_words"),
        ({"nbest": [interpretation("rm", domain="tool")]}, None, "vote"),
        ({"nbest": [], "executed": None, "response": "yes", "outcome": "answered"}, None, "vote"),
    ],
)
def test_no_vote_is_for_a_label_outside_the_ontology(
    fields: dict[str, Any], reading: dict[str, Any] | None, outcome: str
):
    fields = {"outcome": "answered"} | fields
    accepted, p_defect = ({}, [0.0]) if reading is None else ({0: reading}, [0.9])
    assert cast([fields], p_defect, accepted, ontology=ONTOLOGY)[1] == {outcome: 1}
    assert "unknown_label" not in cast([fields], p_defect, accepted)[1]


@pytest.mark.parametrize(
    ("licences", "outcomes"),
    [
        (None, ["vote", "vote", "vote"]),
        (("CC0-1.0", "MIT"), ["vote", "licence", "licence"]),
        (("CC0-1.0", "other"), ["vote", "vote", "licence"]),
    ],
)
def test_turns_under_other_licences_or_none_do_not_vote(licences: tuple[str, ...] | None, outcomes: list[str]):
    rows, found = cast([{"licence": "CC0-1.0"}, {"licence": "other"}, {}], [0.0] * 3, licences=licences)
    assert found == dict(Counter(outcomes)) and len(rows) == outcomes.count("vote")
    assert [next(iter(r["licences"]), None) for r in rows] == [
        name for name, o in zip(("CC0-1.0", "other", None), outcomes, strict=True) if o == "vote"
    ]


def test_a_correction_that_a_turn_under_another_licence_supports_casts_no_vote():
    free = {"licence": "MIT"}
    assert supported(free, free, by=["t001"], licences=("MIT",), first=free) == ["vote"] * 3
    assert supported({"licence": "no"}, free, by=["t001"], licences=("MIT",), first=free) == [
        "licence",
        "licence",
        "vote",
    ]
