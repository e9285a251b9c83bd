"""The contracts of the records as files: `python -m tests.golden_files` writes them, a test holds the code to them.

A changed file in a diff is a changed contract: raise the record's version with it. Beside them the text of one
explanation, made from the JSON next to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pipeline.explain.render import render
from schemas import RECORDS, Record

FOLDER: Final = Path(__file__).parent / "golden" / "schemas"
EXPLAIN: Final = Path(__file__).parent / "golden" / "explain"


def contract(record: Record) -> dict[str, Any]:
    """What a golden file holds: the description that the digest is made from, and what every column means."""
    described: dict[str, Any] = record.describe()
    meanings = {c.name: c.meaning for c in record.columns}
    columns = [c | {"meaning": meanings[c["name"]]} for c in described["columns"]]
    return described | {"meaning": record.meaning, "columns": columns}


def text(record: Record) -> str:
    """A golden file's text."""
    return json.dumps(contract(record), indent=2, ensure_ascii=False) + "\n"


def explanation() -> str:
    """The text of the example explanation."""
    return render(json.loads((EXPLAIN / "example.json").read_text(encoding="utf-8")), turns=True) + "\n"


def main() -> None:
    """Write every file, and remove those of records that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for record in RECORDS:
        (FOLDER / f"{record.name}.json").write_text(text(record), encoding="utf-8")
    (EXPLAIN / "example.txt").write_text(explanation(), encoding="utf-8")
    print(f"{len(RECORDS)} files in {FOLDER}")
    from tests.golden_views import main as views

    views()


if __name__ == "__main__":
    main()
