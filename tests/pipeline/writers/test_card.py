from __future__ import annotations

from typing import Any

from pipeline.writers.card import card

THRESHOLD = {"value": 0.5, "wished": 0.9, "certified_at": None, "precision": None, "labels": 0, "low": None}


def manifest(**fields: Any) -> dict[str, Any]:
    return {
        "release_id": "0123456789abcdef" * 4,
        "window": {"first": "2026-03-01", "last": "2026-03-02"},
        "counts": {"label": {"kept": 1234, "defects": 56}, "release": {"kept": 7, "examples.train.correction": 7}},
        "thresholds": {"defect": THRESHOLD, "correction": THRESHOLD},
        "quarantine": {"domains": {}, "carried_from": None},
        "training": {"labels": "labelling functions", "gold_turns": 0},
        "files": {
            f"{name}-00000-of-00001.parquet": {"rows": rows}
            for name, rows in {
                "sft/data/train": 1200,
                "nlu/data/train": 900,
                "nlu/data/test": 100,
                "lineage/data/train": 1300,
                "dead_letters/data/all": 5,
            }.items()
        },
    } | fields


def test_the_front_matter_names_each_view_and_split_nlu_first():
    text = card(manifest())
    front = text.split("---\n")[1]
    assert [line.split(": ")[1] for line in front.splitlines() if "config_name" in line] == [
        "nlu",
        "sft",
        "dead_letters",
        "lineage",
    ]
    assert front.count("default: true") == 1
    assert (
        "  - split: train\n    path: nlu/data/train-*.parquet\n  - split: test\n    path: nlu/data/test-*.parquet"
        in front
    )


def test_a_release_without_files_has_no_front_matter():
    assert card(manifest(files={})).startswith("# Release 0123456789ab")


def test_the_figures_are_those_of_the_manifest():
    text = card(manifest())
    assert "| turns | 1,234 |" in text and "| turns judged defective | 56 (0 certified) |" in text
    assert "| examples, train, correction | 7 |" in text


def test_what_is_estimated_is_never_called_certified():
    assert card(manifest()).count("no threshold is certified") == 2
    sure = THRESHOLD | {"certified_at": 0.8, "precision": 0.97, "labels": 40, "low": 0.91}
    text = card(manifest(thresholds={"defect": sure, "correction": THRESHOLD}))
    assert (
        "certified from p >= 0.80: 0.970 on 40 later gold turns" in text
        and text.count("no threshold is certified") == 1
    )


def test_quarantined_domains_are_named_with_their_reason():
    assert "Quarantined" not in card(manifest())
    check = {"gate": "domains: not most turns are corrected", "observed": 0.75, "bound": 0.5}
    entry = {"checks": [check], "turns": 1500, "withheld": 4, "carried": 3}
    text = card(manifest(quarantine={"domains": {"bus": entry}, "carried_from": "abcdef" * 10}))
    assert "- bus (not most turns are corrected: 75.0% of 1,500 turns, at most 50.0%): 4 new examples left out" in text
    assert "Carried over from release abcdefabcdef." in text
