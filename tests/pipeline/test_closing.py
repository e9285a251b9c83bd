from pipeline.closing import closing_table

RESULT = {
    "release": "out/releases/abc",
    "counts": {
        "ingest": {"in": 1200, "kept": 1100, "dead_lettered": 90, "superseded": 10},
        "signals": {"sessions": 40, "subjects": 30},
        "label": {"kept": 1100, "defects": 200, "defects_certified": 50, "corrected": 20, "corrected_certified": 0},
        "curate": {
            "kept": 12,
            "below_support": 7,
        },
        "release": {
            "in": 12,
            "kept": 12,
            "examples.train.correction": 2,
            "examples.train.confirmation": 9,
            "examples.test.confirmation": 1,
        },
    },
    "domains": {
        "music": {"turns": 900, "defects": 60, "corrected": 5},
        "bus": {"turns": 200, "defects": 140, "corrected": 15},
    },
    "thresholds": {
        "threshold": {"value": 0.62, "wished": 0.9, "certified_at": 0.95},
        "tau": {"value": 0.8, "wished": 0.9, "certified_at": None},
    },
    "labels": "gold",
    "training": {},
    "quarantined": {},
    "shards": {"lineage": 2, "nlu": 2},
    "proofs": ["the counts of 4 stages close"],
}


def test_the_table_says_what_was_found_by_domain_the_worst_first():
    text = closing_table(RESULT)
    lines = text.splitlines()
    music, bus = (next(k for k, line in enumerate(lines) if line.startswith(d)) for d in ("music", "bus"))
    assert bus < music
    assert lines[bus].split() == ["bus", "200", "140", "70.0%", "15"]


def test_what_was_redacted_is_told_if_anything_was():
    assert "redacted" not in closing_table(RESULT)
    ingest = RESULT["counts"]["ingest"] | {
        "redacted.PHONE_NUMBER": 3,
        "redacted.EMAIL_ADDRESS": 1200,
        "redacted.turns": 900,
        "platform_marks": 5,
    }
    text = closing_table(RESULT | {"counts": RESULT["counts"] | {"ingest": ingest}})
    line = next(line for line in text.splitlines() if line.startswith("redacted"))
    assert line.split(maxsplit=2) == ["redacted", "900", "turns; EMAIL_ADDRESS 1,200, PHONE_NUMBER 3"]


def test_what_is_certified_and_what_is_estimated_is_told_apart():
    text = closing_table(RESULT)
    assert "p >= 0.62, estimated from gold; 50 certified at precision 0.90" in text
    assert "lead >= 0.80, estimated from gold; none certified" in text


def test_a_run_in_a_row_tells_what_it_took_over_and_judged_anew():
    told = {
        "release": "0123456789abcdef",
        "taken_over": {"open": 3, "recent": 20, "labels": 0},
        "late": {"turns": 4, "alone": 1},
        "revised": {"turns": 6, "sessions": 2, "of": {"0123456789abcdef": 6}},
        "left_open": 5,
    }
    ingest = RESULT["counts"]["ingest"] | {"in": 100, "taken.open": 3, "taken.recent": 20}
    text = closing_table(RESULT | {"counts": RESULT["counts"] | {"ingest": ingest}, "made_of": told})
    assert "77 records read" in text
    assert "taken over             3   turns of open sessions, and 20 of judged ones, from release 0123456789ab" in text
    assert "judged anew            6   turns; 4 late, 1 of them found nothing of their session" in text
    assert "left open              5 " in text
    assert "left open" not in closing_table(RESULT)


def test_examples_by_kind_and_what_was_left_out():
    text = closing_table(RESULT)
    assert text.count("10 confirmations, 2 corrections\n") == 1
    told = next(line for line in text.splitlines() if line.startswith("dropped"))
    assert told.split() == ["dropped", "7", "turns:", "7", "said", "by", "too", "few", "users"]


def test_views_without_rows_in_a_split_are_told():
    assert "without rows" not in closing_table(RESULT)
    rows = {"view_rows.train.nlu": 9, "view_rows.train.rl": 9, "view_rows.train.review": 1, "view_rows.test.review": 2}
    counts = RESULT["counts"] | {"release": RESULT["counts"]["release"] | rows}
    text = closing_table(RESULT | {"counts": counts})
    line = next(line for line in text.splitlines() if line.startswith("no test"))
    assert line.split(maxsplit=3) == ["no", "test", "2", "views without rows in split test: nlu, rl"]


def test_a_domain_without_turns_has_no_share():
    result = RESULT | {"domains": {"new": {"defects": 0}}}
    assert "%" not in closing_table(result).split("domain", 1)[1]


def test_a_quarantined_domain_is_told_with_its_reason_and_what_to_do():
    check = {"gate": "domains: not nearly all turns are defective", "observed": 0.95, "bound": 0.9}
    entry = {"checks": [check], "turns": 200, "withheld": 4, "carried": 3, "carried_dropped": 1, "advice": "look at it"}
    counts = RESULT["counts"] | {"release": {"in": 12, "kept": 8, "quarantined": 4, "carried": 3}}
    assert "quarantined" not in closing_table(RESULT)
    text = closing_table(RESULT | {"quarantined": {"bus": entry}, "counts": counts})
    assert "quarantined  bus (not nearly all turns are defective: 95.0% of 200 turns, at most 90.0%)" in text
    assert "4 new examples left out, 3 of the parent release carried over, 1 of it given up" in text
    assert "look at it" in text
    examples = next(line for line in text.splitlines() if line.startswith("examples"))
    assert examples.split()[1] == "11"
    assert "of them 3 carried over; 4 of quarantined domains left out" in examples


def _with_domains(**basis):
    held = {d: {"value": 0.6, "wished": 0.9, "certified_at": None, "basis": b} for d, b in basis.items()}
    thresholds = RESULT["thresholds"] | {"threshold": RESULT["thresholds"]["threshold"] | {"domains": held}}
    return RESULT | {"thresholds": thresholds}


def test_what_domains_rest_on_is_told_where_they_differ():
    text = closing_table(_with_domains(music="domain", bus="abstain"))
    assert "(of 2 domains: 1 proved on its own gold, 1 abstains)" in text
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith(("bus", "music"))}
    assert lines["bus"].endswith("15  abstains") and lines["music"].endswith("5  proved on its own gold")


def test_a_domain_unknown_to_training_is_marked():
    text = closing_table(_with_domains(bus="option"))
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith(("bus", "music"))}
    assert lines["music"].endswith("unknown to training") and lines["bus"].endswith("15")


def test_the_vote_stands_beside_the_model():
    votes = {"functions": 11, "share": 0.784, "auc": 0.769, "model_auc": 0.964}
    text = closing_table(RESULT | {"training": {"votes": votes}})
    assert "model     Labelling functions: 11 vote, on 78% of the turns; AUC of their majority vote 0.769" in text
