"""A work area that was filled for another interval, or by other options, is not released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from synthetic import SETTINGS, afterword, copy, write_log

DAY = ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
SAME_DAY = ("2026-03-01T01:00:00+01:00", "2026-03-01T19:00:00-05:00")
NEXT_DAY = ("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z")


def of(interval: tuple[str, str] | None) -> list[str]:
    sides = zip(("start", "end"), interval or (), strict=False)
    return [part for side, at in sides for part in ("--set", f"release.interval_{side}={at}")]


@pytest.fixture
def read(released: Path, tmp_path: Path) -> Path:
    """A released folder whose log was read for a day."""
    out = copy(released, tmp_path / "out")
    path = out / "stages" / "ingest" / "options.json"
    held = json.loads(path.read_text())
    held["release"] |= {"interval_start": DAY[0], "interval_end": DAY[1]}
    path.write_text(json.dumps(held))
    return out


@pytest.mark.parametrize("words", [("release",), ("run", "--from", "release"), ("run", "--from", "signals")])
@pytest.mark.parametrize("interval", [NEXT_DAY, None])
def test_a_day_is_not_released_as_another(read: Path, words: tuple[str, ...], interval: Any, capsys: Any):
    before = (read / "CURRENT").read_bytes()
    assert afterword(*words, *SETTINGS[2:], *of(interval), "--out", read) == 7
    said = capsys.readouterr().err.splitlines()[-1]
    asked = "no interval" if interval is None else " to ".join(interval)
    assert f"read for {' to '.join(DAY)}, and a release of {asked} is asked for; run from ingest" in said
    assert (read / "CURRENT").read_bytes() == before
    # What the stages left is as it was.
    assert (read / "stages" / "release" / "stage.json").exists()


def test_the_same_day_in_other_words_is_released(read: Path):
    assert afterword("release", *SETTINGS[2:], *of(SAME_DAY), "--out", read) == 0


def test_a_log_that_was_read_for_no_interval_is_released_under_any(released: Path, tmp_path: Path):
    assert afterword("release", *SETTINGS[2:], *of(DAY), "--out", copy(released, tmp_path / "out")) == 0


def test_a_log_that_was_read_otherwise_is_not_released(released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")
    assert afterword("release", *SETTINGS[2:], "--timezone", "Europe/Rome", "--out", out) == 7
    said = capsys.readouterr().err.splitlines()[-1]
    assert 'the log was read with ingest.timezone = null, not "Europe/Rome"; run from ingest' in said


def test_options_of_ingest_need_not_be_said_again(released: Path, tmp_path: Path):
    out = copy(released, tmp_path / "out")
    again = ("ingest", "--input", tmp_path / "log", *SETTINGS, "--timezone", "Europe/Rome", "--out", out)
    (tmp_path / "log").mkdir()
    write_log(tmp_path / "log")
    assert afterword(*again) == 0
    assert afterword("run", "--from", "signals", *SETTINGS[2:], "--out", out) == 0
    held = json.loads((out / "releases" / (out / "CURRENT").read_text().strip() / "manifest.json").read_text())
    assert held["identity"]["config"]["ingest"]["timezone"] == "Europe/Rome"
