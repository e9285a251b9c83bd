"""Builds an output folder that holds a user in every place once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]


@pytest.fixture(scope="session")
def leaver_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log with the user."""
    from leaver import write_log

    return write_log(tmp_path_factory.mktemp("leaver") / "log")


@pytest.fixture(scope="session")
def held(leaver_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with two releases, an audit, labels and a report that all hold the user. Copy it."""
    from leaver import SECRET, SETTINGS, TURNS, current
    from synthetic import afterword

    out = tmp_path_factory.mktemp("held") / "out"
    (out / "gold").mkdir(parents=True)
    label = {"definition": "dissatisfied", "value": 1.0, "source": "people"}
    rows = [label | {"turn_id": name} for name in (TURNS[0], "u001-0", "u002-0")]
    (out / "gold" / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    csv = ["turn_id,definition,value,source", f"{TURNS[1]},breakdown,0,people", "u003-0,breakdown,0,people"]
    (out / "gold" / "b.csv").write_text("\n".join(csv) + "\n")
    old = ("--set", "curate.min_users=1")
    assert afterword("run", "--input", leaver_log, *SETTINGS, *old, "--out", out) == 0
    (out / "first").write_text(current(out))
    assert afterword("run", "--from", "curate", *SETTINGS[2:], "--out", out) == 0
    assert afterword("audit", "--out", out, "--n", 1400) == 0
    run = sorted((out / "runs").iterdir())[0]
    (run / "report.html").write_text(f"<p>{SECRET}</p>")
    spill = out / "stages" / "spill" / "ingest"
    spill.mkdir(parents=True)
    (spill / "00000-x.arrow").write_text(SECRET)
    (out / "stages" / ".tmp-abc-bucket-00000.parquet").write_text(SECRET)
    return out
