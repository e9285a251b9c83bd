from __future__ import annotations

from build import interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from features.interpretation import acted_on, best, flatten, hex_id, leading_first, list_offsets

SLOTS = st.dictionaries(st.sampled_from(["from", "to", "at"]), st.sampled_from(["x", "y z", ""]), max_size=3)


def flat(*nbest):
    return flatten(turns(*({"nbest": list(entries)} for entries in nbest))["interpretations"])


def keys(*nbest):
    return flat(nbest).candidate_id.tolist()


@given(SLOTS)
def test_the_order_of_slots_does_not_matter(slots):
    one = interpretation(**{}) | {"slots": interpretation(**slots)["slots"]}
    other = one | {"slots": one["slots"][::-1]}
    got = flat([one, other])
    assert got.candidate_id[0] == got.candidate_id[1]
    assert got.frame_id[0] == got.frame_id[1]
    assert got.values[0] == got.values[1]


def test_case_of_values_does_not_matter_but_the_rest_does():
    assert keys(interpretation(to="Home"))[0] == keys(interpretation(to="home"))[0]
    base = keys(interpretation(to="home"))[0]
    for other in (
        interpretation(to="work"),
        interpretation(at="home"),
        interpretation("tell", to="home"),
        interpretation(domain="e", to="home"),
        interpretation(),
    ):
        assert keys(other)[0] != base


def test_a_frame_is_the_same_whatever_the_values():
    got = flat([interpretation(to="home"), interpretation(to="work"), interpretation(at="home")])
    assert got.frame_id[0] == got.frame_id[1] != got.frame_id[2]


def test_values_are_normalised_in_slot_order_and_hashed_under_any_frame():
    got = flat(
        [
            interpretation(to="I'm HERE", at="9"),
            interpretation("tell", at="9", to="i m here"),
            interpretation(),
        ]
    )
    assert got.values.tolist() == ["9 i m here", "9 i m here", ""]
    assert got.value_id[0] == got.value_id[1] != 0
    assert got.value_id[2] == 0


def test_null_lists_are_empty_ones():
    rows = turns(
        {"nbest": [interpretation("a"), interpretation("b")]},
        {"interpretations": None},
        {"nbest": []},
        {"nbest": [interpretation("c")]},
    )
    got = flatten(rows["interpretations"])
    assert got.offsets.tolist() == [0, 2, 2, 2, 3]
    assert got.turn.tolist() == [0, 0, 3]
    assert best(got).tolist() == [0, -1, -1, 2]
    assert list_offsets(rows["interpretations"].combine_chunks()).tolist() == [0, 2, 2, 2, 3]


def test_names_missing_from_the_log_equal_empty_ones():
    assert keys(interpretation(domain=None))[0] == keys(interpretation(domain=""))[0]


def test_no_turns():
    assert len(flat()) == 0


def test_hex_ids_are_16_unsigned_digits():
    got = flat([interpretation("a")])
    (digits,) = hex_id(got.candidate_id)
    assert int(digits, 16) == int(got.candidate_id.view("uint64")[0])
    assert len(digits) == 16


def _order(nbest, executed=None):
    rows = turns({"nbest": nbest, "executed": executed})
    return [i["intent"] for i in leading_first(rows["interpretations"], rows["executed"])[0].as_py()]


def test_what_was_acted_on_leads_then_the_highest_score():
    nbest = [interpretation("a", 0.1), interpretation("b", 0.9), interpretation("c", None), interpretation("d", 0.5)]
    assert _order(nbest) == ["b", "d", "a", "c"]
    assert _order(nbest, 0) == ["a", "b", "d", "c"]
    assert _order(nbest, 2) == ["c", "b", "d", "a"]


def test_ties_and_null_lists_stay_as_logged():
    rows = turns({"nbest": [interpretation("a"), interpretation("b")]}, {"nbest": []}, {"interpretations": None})
    got = leading_first(rows["interpretations"], rows["executed"])
    assert [None if v is None else [i["intent"] for i in v] for v in got.to_pylist()] == [["a", "b"], [], None]
    mixed = turns({"interpretations": None}, {"nbest": [interpretation("a", 0.1), interpretation("b", 0.2)]})
    got = leading_first(mixed["interpretations"], mixed["executed"]).to_pylist()
    assert got[0] is None and [i["intent"] for i in got[1]] == ["b", "a"]


def test_what_was_acted_on_is_found_among_all_hypotheses():
    one, two = interpretation("a"), interpretation("b")
    table = turns(
        {"nbest": [one, two], "executed": 1}, {"nbest": []}, {"nbest": [two], "executed": 0}, {"nbest": [one]}
    )
    assert acted_on(table["interpretations"], table["executed"]).tolist() == [1, -1, 2, -1]
