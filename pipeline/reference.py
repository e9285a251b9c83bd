"""Reference pages made from the code: records and configuration.

python -m pipeline.reference docs
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path

from pipeline.options import Config
from schemas import RECORDS, Record
from schemas.record import Column
from schemas.signals import CANDIDATE_COLUMNS

_MADE = "<!-- Made by `make docs`; edit the code, not this page. -->"


def records_page() -> str:
    """Every record with its columns, meanings and units, as Markdown."""
    lines = [
        _MADE,
        "",
        "# Records",
        "",
        "One explicit Arrow schema each. A bold column may not be null. *reaction* marks what is known only "
        "after the user's next move.",
        "",
    ]
    for record in RECORDS:
        lines += _record(record)
    lines += [
        "## Fields of `signals.candidates`",
        "",
        "One entry a hypothesis, in the order of `turn.interpretations`.",
        "",
    ]
    lines += _columns(CANDIDATE_COLUMNS)
    return "\n".join(lines) + "\n"


def _record(record: Record) -> list[str]:
    key = ", ".join(f"`{k}`" for k in record.key)
    head = [f"## {record.name}", "", f"{record.meaning} Key: {key}. Version {record.version}.", ""]
    return [*head, *_columns(record.columns)]


def _columns(columns: tuple[Column, ...]) -> list[str]:
    lines = ["| column | type | unit | meaning |", "|---|---|---|---|"]
    for column in columns:
        name = f"`{column.name}`" if column.nullable else f"**`{column.name}`**"
        mark = " *reaction*" if column.needs_reaction else ""
        type = _short(str(column.type))
        lines.append(f"| {name} | {type} | {column.unit or ''} | {_cell(column.meaning)}{mark} |")
    return [*lines, ""]


def _short(type: str) -> str:
    """A type as a cell holds it; the members of long structs are named elsewhere."""
    plain = type.replace("element: ", "").replace("item: ", "").replace(" not null", "")
    return f"`{plain if len(plain) <= 90 else plain[: plain.index('<')] + '<struct>'}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def config_page() -> str:
    """Every key of the configuration with its default and reason, as Markdown."""
    lines = [
        _MADE,
        "",
        "# Configuration",
        "",
        "One TOML file (`--config run.toml`), every key optional; `--set section.key=value` sets one on the "
        "command line.",
        "",
    ]
    for section in dataclasses.fields(Config):
        options = section.default_factory() if callable(section.default_factory) else None
        lines += [f"## [{section.name}]", "", "| key | default | meaning |", "|---|---|---|"]
        meanings = attributes(type(options))
        for key in dataclasses.fields(options):
            lines.append(f"| `{key.name}` | `{_toml(getattr(options, key.name))}` | {_cell(meanings[key.name])} |")
        lines.append("")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def attributes(options: type) -> dict[str, str]:
    """Meanings in the Attributes section of an options class, by name.

    Raises
    ------
    KeyError
        If a field has none: every option is documented.
    """
    text = inspect.cleandoc(options.__doc__ or "").partition("Attributes\n----------\n")[2]
    found: dict[str, str] = {}
    for names, meaning in re.findall(r"^(\S[^:\n]*) : [^\n]*\n((?:    [^\n]*\n?|\n)*)", text + "\n", re.MULTILINE):
        for name in names.split(","):
            found[name.strip()] = " ".join(meaning.split())
    missing = [f.name for f in dataclasses.fields(options) if not found.get(f.name)]
    if missing:
        raise KeyError(f"{options.__name__}: no meaning given for {', '.join(missing)}")
    return found


PAGES = {"records.md": records_page, "config.md": config_page}


def main() -> int:
    """Write the pages into a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
