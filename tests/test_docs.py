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


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda p: p.name)
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_exit_code_and_every_reason_is_in_the_docs():
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    for error in AfterwordError.__subclasses__():
        assert f"| {error.exit_code} |" in text, error.__name__
    for reason in Reason:
        assert f"`{reason}`" in text


def test_every_make_command_of_the_docs_exists():
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        for named in re.findall(r"`?make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert named in made | {"it"}, f"{page.name}: make {named}"
