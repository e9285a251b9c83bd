"""Every hard input that docs/contributing.md lists is held by a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (\d+) \| .+ \| `(tests/[\w/]+\.py)::(test_\w+)` \|$", re.MULTILINE)
LISTED = ROW.findall((ROOT / "docs" / "contributing.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("number", "path", "name"), LISTED)
def test_the_test_of_a_hard_input_is_there(number: str, path: str, name: str):
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_hard_input_is_listed():
    assert {int(number) for number, _, _ in LISTED} == set(range(1, 37))
