"""Data Docs of the gates as pages that need no network: nothing is fetched when one is opened.

The library's pages take styles and scripts from eight hosts, and tell those who opens them. Here both are cut out, and
a short style sheet takes the place of the styles: without one, no row shows whether it holds.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pipeline import storage
from pipeline.gates.evaluate import Library

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1c2127; max-width: 72rem; margin: 0 auto;
       padding: 1rem 1.5rem 3rem; }
nav, nav ol, nav ul { list-style: none; margin: 0; padding: 0; }
.breadcrumb { display: flex; flex-wrap: wrap; gap: .5rem; padding: 1rem 0; }
.breadcrumb li + li::before { content: "/"; margin-right: .5rem; color: #8a919a; }
a { color: #175ea8; text-decoration: none; }
a:hover { text-decoration: underline; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1.2rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem; border-bottom: 1px solid #dfe3e8; }
th { background: #f4f6f8; font-weight: 600; }
td p, td span { margin: 0; }
.badge { background: #eef1f4; border-radius: .25rem; padding: .05rem .35rem; font-family: ui-monospace, monospace; }
.text-success { color: #1a7f37; } .text-danger { color: #b42318; } .text-warning { color: #9a6700; }
i { font-style: normal; font-weight: 700; }
.fa-check-circle::before { content: "\\2713"; } .fa-times::before { content: "\\2717"; }
.fa-exclamation-triangle::before { content: "!"; }
.ge-section { margin: 1.6rem 0; }
h2, h3, h4, h5, .h5, .h6 { margin: 1.2rem 0 .3rem; }
"""
_CUT: Final = tuple(
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"<script\b.*?</script>",
        r"<link\b[^>]*>",
        r"<img\b[^>]*>",
        r"<footer\b.*?</footer>",
        r"background: *url\(['\"]?https?:[^;]*;",
        # A filter that the scripts would work.
        r"<label\b.*?</label>",
        r"<input\b[^>]*>",
        r"<p\b[^>]*>\s*Validation Filter:\s*</p>",
        r"<(h\d|strong)\b[^>]*>\s*Actions\s*</\1>",
    )
)
# The library's own index is drawn by scripts.
_INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="UTF-8"><title>Gates</title></head>
<body>
<h2>Gates of the release</h2>
<p>Each table was held against its suite before the release was switched to. <a href="{run}">run.json</a></p>
<table>
<thead><tr><th></th><th>suite</th><th>holds</th><th>what does not</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</body>
</html>
"""
_ROW: Final = (
    '<tr><td><i class="fas fa-{mark}"></i></td><td><a href="{page}">{suite}</a></td><td>{holds} of {all}</td>'
    "<td>{failed}</td></tr>"
)
_ABROAD: Final = re.compile(r"""<a\b[^>]*href=["']https?://[^>]*>(.*?)</a>""", re.DOTALL | re.IGNORECASE)


def write_pages(library: Library, local: Path, target: str) -> None:
    """Build the pages of what a library validated, and write them to a folder on any file system.

    Parameters
    ----------
    library : Library
        Made with the folder `local`.
    local : pathlib.Path
    target : str
    """
    library.build()
    pages = {path.relative_to(local).as_posix(): path.read_text(encoding="utf-8") for path in local.rglob("*.html")}
    of_suite = {page.split("/")[1]: page for page in sorted(pages) if page.startswith("validations/")}
    pages["index.html"] = _index(library.rows, of_suite)
    for name, text in pages.items():
        storage.write_bytes(storage.join(target, name), alone(text).encode())


def _index(gates: Iterable[Mapping[str, Any]], of_suite: Mapping[str, str]) -> str:
    """One row a suite: how many of its expectations hold, and which do not."""
    rows = []
    named = [(*gate["gate"].split(": ", 1), gate["passed"]) for gate in gates]
    for suite, page in of_suite.items():
        held = [(name, passed) for of, name, passed in named if of == suite]
        failed = [name for name, passed in held if not passed]
        words = "; ".join(html.escape(name) for name in failed)
        mark = "times text-danger" if failed or not held else "check-circle text-success"
        whole = len(held)
        rows.append(_ROW.format(mark=mark, page=page, suite=suite, holds=whole - len(failed), all=whole, failed=words))
    return _INDEX.format(run="../run.json", rows="\n".join(rows))


def alone(page: str) -> str:
    """A page without all that lies elsewhere, and with its own style."""
    for cut in _CUT:
        page = cut.sub("", page)
    page = _ABROAD.sub(r"\1", page)
    return page.replace("</head>", f"<style>{_STYLE}</style>\n</head>", 1)
