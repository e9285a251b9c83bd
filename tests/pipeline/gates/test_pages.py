"""Data Docs that need no network."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.gates.pages import alone
from schemas.expectations import SUITES


def pages(out: Path) -> dict[str, str]:
    (folder,) = out.glob("runs/*/data_docs")
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.html")}


def test_every_suite_has_a_page_that_the_index_links(repaired: Path):
    found = pages(repaired)
    linked = re.findall(r'href="(validations/[^"]+)"', found["index.html"])
    assert sorted(page.split("/")[1] for page in linked) == sorted(suite.name for suite in SUITES)
    assert all("Must" in found[page] or "must" in found[page] for page in linked)


def test_no_page_fetches_anything(repaired: Path):
    for name, text in pages(repaired).items():
        fetched = re.findall(r"""(?:src|href)\s*=\s*["']([^"']+)|url\(["']?([^"')]+)""", text)
        abroad = [a or b for a, b in fetched if (a or b).startswith(("http:", "https:", "//"))]
        assert not abroad and "<script" not in text, name


def test_what_lies_elsewhere_is_cut_out():
    page = (
        '<head><link rel="x" href="https://a.b/c.css"><script src="https://a.b/c.js">x</script></head>'
        '<img src="https://a.b/c.png"><a href="https://a.b">words</a><a href="#here">kept</a><footer>ad</footer>'
        "<style>a { background: url('https://a.b/c.png') 0 0; color: red; }</style>"
    )
    left = alone(page)
    assert "a.b" not in left and "words" in left and '<a href="#here">kept</a>' in left and "color: red" in left
