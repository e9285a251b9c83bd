from __future__ import annotations

from typing import Any

from pipeline.writers.card import card

THRESHOLD = {"value": 0.5, "wished": 0.9, "certified_at": None, "precision": None, "labels": 0, "low": None}


def manifest(**fields: Any) -> dict[str, Any]:
    return {
        "release_id": "0123456789abcdef" * 4,
        "window": {"first": "2026-03-01", "last": "2026-03-02"},
        "counts": {
            "ingest": {"superseded": 3, "dead_letter.naive_time": 2},
            "label": {"kept": 1234, "defects": 56},
            "release": {"kept": 7, "examples.train.correction": 7},
        },
        "closing": {"curate": {"in": 1234, "kept": 7, "below_support": 1200, "no_words": 0, "some_new_reason": 27}},
        "domains": {"music": {"turns": 1000, "defects": 50, "corrected": 7}, "bus": {"turns": 234, "defects": 6}},
        "identity": {"config": {"curate": {"min_users": 2, "answer_min_users": 1, "reject_min_users": 1}}},
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
                "dead_letters/data/log": 5,
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


def test_domains_stand_with_their_share_of_defects_the_largest_first():
    text = card(manifest())
    assert "| music | 1,000 | 50 (5.0%) | 7 |\n| bus | 234 | 6 (2.6%) | 0 |" in text


def test_what_was_left_out_is_told_by_reason():
    told = card(manifest()).partition("## What was left out")[2].partition("##")[0]
    assert [line.split("|")[1:3] for line in told.splitlines() if line.startswith("| ")][1:] == [
        [" turn: said by too few users ", " 1,200 "],
        [" turn: some new reason ", " 27 "],
        [" superseded by a later record of the same turn ", " 3 "],
        [" dead letter: naive_time ", " 2 "],
    ]


def test_limits_follow_from_the_data():
    made = {"kept": 9, "examples.train.correction": 7, "examples.train.rejection": 2}
    counts = manifest()["counts"] | {"release": made}
    text = card(manifest(counts=counts))
    assert "There is no test split" in text and "One user is enough for: rejection." in text
    assert "in place of 2 rejections is not known" in text and "No defect is certified" in text
    sure = manifest()["counts"] | {"label": {"kept": 1, "defects_certified": 1}, "release": {"examples.test.answer": 1}}
    text = card(manifest(counts=sure))
    assert "There is no test split" not in text and "No defect is certified" not in text


def released(**rows: int) -> dict[str, Any]:
    """Counts of a release whose views have these rows, named `<split>_<view>`, or `<split>_<view>_<label>`."""
    held = {f"view_rows.{name.replace('_', '.')}": n for name, n in rows.items()}
    return manifest()["counts"] | {"release": {"examples.train.correction": 7, "examples.test.rejection": 2} | held}


def test_a_view_without_rows_in_a_split_is_named():
    counts = released(train_nlu=7, train_rl=7, train_review=1, test_review=2, test_preference=1)
    text = card(manifest(counts=counts))
    assert "- Nothing to measure on: `nlu`, `rl` have no rows in split test." in text
    assert "- Nothing to learn from: `preference` has no rows in split train." in text
    whole = card(manifest(counts=released(train_nlu=7, test_nlu=1)))
    assert "Nothing to" not in whole and "Nothing to" not in card(manifest(counts=released(train_nlu=7)))


def test_a_split_that_is_not_written_for_its_one_label_is_none():
    counts = released(train_kto_true=3, train_kto_false=4, test_kto_false=2, test_review=2, train_review=4)
    text = card(manifest(counts=counts))
    assert "- Nothing to measure on: `kto` has no rows in split test." in text
    assert "The 2 rows of `kto` in split test all have the same label" in text


def test_labels_of_kto_that_are_far_from_even_are_told_with_their_counts():
    text = card(manifest(counts=released(train_kto_true=12, train_kto_false=1750)))
    assert "`kto` has 12 desirable rows (`label` true) and 1,750 undesirable ones in split train, 1 to 145.8" in text
    assert "desirable rows" not in card(manifest(counts=released(train_kto_true=12, train_kto_false=30)))


def test_licences_and_redaction_are_told():
    assert "## Licences" not in card(manifest())
    rights = {"of_licence.CC0-1.0": 1200, "of_licence.CC-BY-4.0": 5, "without_licence": 3}
    counts = manifest()["counts"] | {"release": {"kept": 7} | rights}
    counts["ingest"] = {"redacted.PHONE_NUMBER": 3, "redacted.EMAIL_ADDRESS": 1200, "redacted.turns": 900}
    told = card(manifest(counts=counts)).partition("## Licences and redaction")[2].partition("##")[0]
    assert "| CC-BY-4.0 | 5 |\n| CC0-1.0 | 1,200 |\n| none stated | 3 |" in told
    assert "Redacted, in 900 turns of the log: EMAIL_ADDRESS 1,200, PHONE_NUMBER 3." in told
    off = {"config": manifest()["identity"]["config"] | {"privacy": {"redact": False}}}
    assert "Nothing was redacted: `privacy.redact` was off." in card(manifest(identity=off))


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


def domain(basis: str, value: float = 0.7, **fields: Any) -> dict[str, Any]:
    return THRESHOLD | {"value": value, "basis": basis} | fields


def test_thresholds_by_domain_stand_in_a_table_where_they_differ():
    proof = {"certified_at": 0.9, "precision": 0.97, "labels": 60, "low": 0.91}
    held = {"bus": domain("domain", **proof), "train": domain("abstain", 1.0), "new": domain("estimated", 0.5)}
    text = card(manifest(thresholds={"defect": THRESHOLD | {"domains": held}, "correction": THRESHOLD}))
    assert "1 of 3 domains have a threshold certified on their own gold. For the others p >= 0.500" in text
    assert "| bus | 0.700 | proved on its own gold | 0.90 | 60 |" in text
    assert "| train |  | abstains |  |  |" in text
    same = {"bus": domain("option"), "train": domain("option")}
    assert "| domain (defect) |" not in card(
        manifest(thresholds={"defect": THRESHOLD | {"domains": same}, "correction": THRESHOLD})
    )


def test_a_single_domain_is_told_by_its_own_threshold():
    held = {"bus": domain("domain", certified_at=0.9, precision=0.97, labels=60, low=0.91)}
    text = card(manifest(thresholds={"defect": THRESHOLD | {"domains": held}, "correction": THRESHOLD}))
    assert "- Defects: p >= 0.700" in text and "0.970 on 60 later gold turns of this domain" in text


def test_calibration_is_told_with_its_curve_and_votes_beside_the_model():
    training = {
        "labels": "gold",
        "gold_turns": 900,
        "votes": {"functions": 11, "share": 0.784, "auc": 0.769, "model_auc": 0.964},
        "calibration": {"turns": 300, "ece": 0.012, "floor": 0.016, "curve": [{"p": 0.1, "share": 0.2, "turns": 300}]},
    }
    text = card(manifest(training=training))
    assert "11 vote, on 78% of the turns; AUC of their majority vote 0.769, of the model 0.964" in text
    assert "off by 0.012 (ECE) on 300 later gold turns" in text and "| 0.100 | 0.200 | 300 |" in text


def test_without_gold_neither_calibration_nor_auc_is_claimed():
    training = {
        "labels": "labelling functions",
        "gold_turns": 0,
        "votes": {"functions": 9, "share": 0.5, "auc": None, "model_auc": None},
        "calibration": {"turns": 0, "ece": None, "floor": None, "curve": []},
    }
    text = card(manifest(training=training))
    assert "9 vote, on 50% of the turns; no gold to hold them to." in text
    assert "Calibration: not measured" in text


def test_turns_of_unknown_domains_are_told():
    counts = manifest()["counts"]
    text = card(manifest(counts=counts | {"label": counts["label"] | {"unknown_domain": 12}}))
    assert "12 turns are of domains that training has not seen" in text and "Unknown domains" not in card(manifest())
