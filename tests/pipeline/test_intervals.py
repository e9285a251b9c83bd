"""Which release of a day the next day builds on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.intervals import parent, pointer, stand

DAY1 = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-02T00:00:00Z"}
DAY2 = {"start": "2026-03-02T00:00:00Z", "end": "2026-03-03T00:00:00Z"}
WEEK = {"start": "2026-02-23T00:00:00Z", "end": "2026-03-02T00:00:00Z"}


def release(out: Path, name: str, interval: dict[str, str] | None) -> dict[str, Any]:
    held = {key: {} for key in ("identity", "counts", "closing", "files")}
    manifest = {"format": manifests.FORMAT, "release_id": name, "interval": interval, **held}
    storage.write_bytes(str(out / "releases" / name / manifests.NAME), storage.readable_json(manifest))
    return manifest


def test_of_a_days_releases_the_one_made_last_is_the_parent(tmp_path: Path):
    first, again = release(tmp_path, "aaa", DAY1), release(tmp_path, "bbb", DAY1)
    stand(str(tmp_path), first)
    stand(str(tmp_path), again)
    assert parent(str(tmp_path), DAY2) == "bbb"
    stand(str(tmp_path), first)
    assert parent(str(tmp_path), DAY2) == "aaa"


def test_one_that_is_gone_stands_for_nothing(tmp_path: Path):
    release(tmp_path, "aaa", DAY1)
    release(tmp_path, "bbb", DAY1)
    stand(str(tmp_path), release(tmp_path, "ccc", DAY1))
    storage.remove(str(tmp_path / "releases" / "ccc"))
    assert parent(str(tmp_path), DAY2) == "aaa"


def test_a_release_made_instead_of_another_takes_its_place_only(tmp_path: Path):
    stand(str(tmp_path), release(tmp_path, "bbb", DAY1))
    stand(str(tmp_path), release(tmp_path, "aaa", DAY1), instead="xxx")
    assert parent(str(tmp_path), DAY2) == "bbb"
    stand(str(tmp_path), release(tmp_path, "ccc", DAY1), instead="bbb")
    assert parent(str(tmp_path), DAY2) == "ccc"


@pytest.mark.parametrize("interval", [DAY1, WEEK, None])
def test_what_does_not_end_where_the_day_begins_is_no_parent(tmp_path: Path, interval: dict[str, str] | None):
    release(tmp_path, "aaa", DAY2)
    stand(str(tmp_path), release(tmp_path, "bbb", None))
    assert parent(str(tmp_path), interval) is None


def test_the_day_before_is_nearer_than_the_week_before(tmp_path: Path):
    stand(str(tmp_path), release(tmp_path, "aaa", WEEK))
    stand(str(tmp_path), release(tmp_path, "bbb", DAY1))
    assert parent(str(tmp_path), DAY2) == "bbb"


def test_an_interval_has_one_name_however_its_times_are_written():
    other = {"start": "2026-03-01T01:00:00+01:00", "end": "2026-03-02T00:00:00.000Z"}
    assert pointer(other) == pointer(DAY1) == "intervals/20260301T000000-20260302T000000"
