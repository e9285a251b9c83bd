"""What a person sees: progress lines and the closing table."""

from __future__ import annotations

import io
from typing import Any

import pytest

from pipeline import tally
from pipeline.closing import closing_table
from pipeline.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_plain_lines_with_rows():
    stream = io.StringIO()
    progress = Progress(stream)
    with progress.stage("ingest"):
        tally.add(1500)
        progress.note("ingest: a note")
    begun, note, ended = stream.getvalue().splitlines()
    assert (begun, note) == ("ingest: started", "ingest: a note") and "1,500 rows" in ended
    assert progress.rows == {"ingest": 1500} and progress.seconds["ingest"] >= 0


def test_rows_are_those_of_the_stage():
    progress = Progress(io.StringIO())
    for rows in (5, 7):
        with progress.stage(f"s{rows}"):
            tally.add(rows)
    assert progress.rows == {"s5": 5, "s7": 7}


def test_a_terminal_gets_one_line_that_is_written_over():
    stream = Terminal()
    with Progress(stream).stage("train"):
        pass
    assert stream.getvalue().startswith("\r") and stream.getvalue().count("\n") == 1


def test_a_failed_stage_is_told_and_its_error_goes_on():
    stream = io.StringIO()
    with pytest.raises(KeyError), Progress(stream).stage("label"):
        raise KeyError
    assert "label: failed after" in stream.getvalue()


THRESHOLD = {"value": 0.5, "wished": 0.9, "certified_at": None}


def result(**fields: Any) -> dict[str, Any]:
    return {
        "release": "out/releases/abc",
        "labels": "labelling functions",
        "training": {},
        "shards": {"nlu": 2, "lineage": 2},
        "thresholds": {"threshold": THRESHOLD, "tau": THRESHOLD | {"certified_at": 0.7}},
        "proofs": ["p1", "p2"],
        "quarantined": {},
        "counts": {
            "ingest": {"in": 1005, "dead_lettered": 3, "superseded": 2},
            "signals": {"sessions": 100, "subjects": 80},
            "label": {"kept": 1000, "defects": 250, "corrected": 20, "corrected_certified": 5},
            "curate": {"kept": 12, "outvoted": 9},
            "release": {
                "kept": 12,
                "examples.train.correction": 4,
                "examples.test.correction": 1,
                "examples.train.confirmation": 7,
            },
        },
        "domains": {"bus": {"turns": 900, "defects": 240, "corrected": 20}, "none": {"turns": 100, "defects": 10}},
    } | fields


def test_the_closing_table_holds_the_figures_of_the_run():
    text = closing_table(result())
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert "1,000" in rows["turns"] and "1,005 records read, 3 dead letters, 2 superseded" in rows["turns"]
    assert "100" in rows["sessions"] and "of 80 users" in rows["sessions"]
    assert "none certified" in rows["defects"] and "5 certified at precision 0.90" in rows["corrections"]
    assert "7 confirmations, 5 corrections" in rows["examples"]
    assert "turns: 9 meant otherwise by more" in rows["dropped"]
    assert rows["shards"].split()[1] == "4" and rows["bus"].split() == ["bus", "900", "240", "26.7%", "20"]
    assert "out/releases/abc" in rows["release"] and text.count("verified  ") == 2


def test_domains_are_ordered_by_defects_and_cut():
    many = {f"d{k:02d}": {"turns": 10, "defects": k} for k in range(30)}
    lines = closing_table(result(domains=many)).splitlines()
    shown = [line.split()[0] for line in lines if line.startswith("d") and line[1].isdigit()]
    assert shown == [f"d{k:02d}" for k in range(29, 9, -1)]
    assert any("and 10 more domains" in line for line in lines)


def test_a_run_that_found_nothing_has_a_table_too():
    empty = result(counts={s: {} for s in ("ingest", "signals", "label", "curate", "release")}, domains={}, shards={})
    assert "none" in closing_table(empty)
