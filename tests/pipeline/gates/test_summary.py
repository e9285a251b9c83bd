import pyarrow as pa

from pipeline.gates.summary import domain_summary, stage_summary
from pipeline.transforms.counts import counts, domain_names
from schemas import DOMAIN_SUMMARY, STAGE_SUMMARY

LABEL = counts(
    "label",
    {"in": 7, "kept": 7},
    domains={("turns", "music"): 4, ("defects", "music"): 3, ("corrected", "music"): 1, ("turns", "bus"): 3},
)
CURATE = counts("curate", {"in": 7, "kept": 2, "uncertain": 5}, domains={("examples", "(none)"): 2})


def test_a_row_a_stage_with_both_sides_of_its_sum():
    told = {
        "ingest": counts("ingest", {"in": 10, "kept": 7, "dead_lettered": 2, "superseded": 1}, {"detail": 99}),
        "signals": counts("signals", {"in": 7, "kept": 6}),
        "label": LABEL,
        "curate": CURATE,
    }
    table = stage_summary(told, 11, {"ingest": 7, "signals": 6, "label": 7})
    assert table.schema.equals(STAGE_SUMMARY.schema)
    assert [list(r.values()) for r in table.to_pylist()] == [
        ["ingest", 11, 10, 10, 7, 7, 0.2],
        ["signals", 7, 7, 6, 6, 6, 0.0],
        ["label", 7, 7, 7, 7, 7, 0.0],
        ["curate", 7, 7, 7, 2, 0, 0.0],
    ]


def test_turns_that_were_taken_over_do_not_make_dead_letters_seem_few():
    ingest = counts("ingest", {"in": 30, "kept": 28, "dead_lettered": 2}, {"taken.open": 5, "taken.recent": 15})
    others = {"signals": counts("signals", {"in": 28, "kept": 28}), "label": LABEL, "curate": CURATE}
    row = stage_summary({"ingest": ingest} | others, 10, {}).to_pylist()[0]
    assert (row["expected_in"], row["rows_in"], row["dead_letter_share"]) == (30, 30, 0.2)


def test_a_row_a_domain_with_its_shares():
    moved = {"music": {"defect_shift": 0.5, "intent_shift": 0.1, "length_shift": 0.2}}
    table = domain_summary(LABEL, CURATE, min_turns=4, shifts=moved)
    assert table.schema.equals(DOMAIN_SUMMARY.schema)
    assert [list(r.values()) for r in table.to_pylist()] == [
        ["(none)", 0, 0, 0, 2, False, None, None, None, None, None],
        ["bus", 3, 0, 0, 0, False, 0.0, 0.0, None, None, None],
        ["music", 4, 3, 1, 0, True, 0.75, 0.25, 0.5, 0.1, 0.2],
    ]


def test_no_domain_and_an_empty_one_are_one():
    names = domain_names(pa.chunked_array([["", None, "bus"]]))
    assert names.to_pylist() == ["(none)", "(none)", "bus"]


def test_a_run_without_domains_has_no_rows():
    empty = counts("label", {})
    assert domain_summary(empty, empty, 1).num_rows == 0
