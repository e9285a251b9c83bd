import io

import pytest

from pipeline import tally
from pipeline.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_plain_lines_with_stage_rows_and_rate():
    stream = io.StringIO()
    with Progress(stream).stage("signals"):
        tally.add(12_000)
    first, last = stream.getvalue().splitlines()
    assert first == "signals: started"
    assert last.startswith("signals: ") and "12,000 rows" in last and "rows/s" in last
    assert "\x1b" not in stream.getvalue()


def test_few_rows_have_no_rate():
    stream = io.StringIO()
    with Progress(stream).stage("release"):
        tally.add(189)
    assert stream.getvalue().endswith(" s, 189 rows\n")


def test_a_terminal_line_is_cleared_before_the_next_is_written():
    stream = _Terminal()
    progress = Progress(stream)
    with progress.stage("ingest"):
        progress.note("ingest: a word")
    assert "\r\x1b[2Kingest: a word\n" in stream.getvalue()


def test_a_phase_stands_in_place_of_a_rate_that_tells_nothing():
    stream = io.StringIO()
    with Progress(stream).stage("train"):
        tally.add(10)
        tally.say("fitting on 10 rows")
    assert "fitting on 10 rows" in stream.getvalue() and "rows/s" not in stream.getvalue()


def test_a_failed_stage_says_so_and_the_next_begins_at_zero():
    stream = io.StringIO()
    progress = Progress(stream)
    with pytest.raises(RuntimeError), progress.stage("train"):
        tally.add(5)
        raise RuntimeError
    with progress.stage("label"):
        pass
    assert "train: failed after" in stream.getvalue()
    assert progress.rows == {"train": 5, "label": 0}
