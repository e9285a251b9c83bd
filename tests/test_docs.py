import re
from pathlib import Path

import pytest

from pipeline.errors import AfterwordError
from pipeline.reference import PAGES
from schemas import Reason

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_pages_are_those_of_the_code(name):
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def test_every_link_between_pages_leads_somewhere():
    links = [
        (page, target)
        for page in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    ]
    assert {"README.md", "cli.md"} <= {page.name for page, _ in links} and len(links) > 10
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []


def test_every_exit_code_and_every_reason_is_in_the_docs():
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    for error in AfterwordError.__subclasses__():
        assert f"| {error.exit_code} |" in text, error.__name__
    for reason in Reason:
        assert f"`{reason}`" in text


def test_the_runbook_has_every_exit_code_of_a_failure():
    codes = re.findall(r"^\| (\d+) \|", (DOCS / "cli.md").read_text(encoding="utf-8").split("## Exit codes")[1], re.M)
    rows = re.findall(r"^\| ([\d, ]+) \|", (DOCS / "runbook.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = {code for row in rows for code in row.split(", ")}
    assert len(codes) > 10 and set(codes) - {"0"} <= told


def test_every_make_command_of_the_docs_exists():
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        (page.name, command)
        for page in [ROOT / "README.md", *DOCS.glob("*.md")]
        for command in re.findall(r"`?make ([a-z-]+)", page.read_text(encoding="utf-8"))
    }
    assert {"test", "docs"} <= {command for _, command in named}
    assert {(page, command) for page, command in named if command not in made | {"it"}} == set()
