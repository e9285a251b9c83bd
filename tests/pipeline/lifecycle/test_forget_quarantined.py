"""A quarantined domain keeps its last good examples, less those of the forgotten user."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from leaver import traces
from synthetic import afterword

from features.hashing import pseudonyms
from pipeline.verify import verify

sys.path[:0] = [str(Path(__file__).parents[1] / "gates")]
from test_quarantine import DAYS, examples, releases, run_day  # noqa: E402


@pytest.mark.long
def test_the_parent_that_examples_are_carried_over_from_is_replaced_too(tmp_path: Path):
    out = tmp_path / "out"
    for name in DAYS:
        assert run_day(out, name, tmp_path) == 0
    good, bad = releases(out)
    carried = [e for e in examples(out, bad) if e["domain"] == "music"]
    names = {str(n): f"u{k:03d}" for k in range(240) for n in pseudonyms(np.array([f"u{k:03d}"], dtype=object))}
    name = next(s for e in carried for s in e["provenance"]["subjects"])
    assert afterword("forget", "--out", out, "--user", names[name]) == 0
    assert traces(out, (name, f"-{names[name]}-", f'"{names[name]}"')) == {}
    new_good, new_bad = releases(out)
    assert new_bad["quarantine"]["carried_from"] == new_good["release_id"] != good["release_id"]
    assert new_good["identity"]["replaces"] == good["release_id"]
    kept = {e["example_id"] for e in examples(out, new_bad) if e["domain"] == "music"}
    assert kept and kept == {e["example_id"] for e in carried if name not in e["provenance"]["subjects"]}
    for held in (new_good, new_bad):
        verify(str(out / "releases" / held["release_id"]))
