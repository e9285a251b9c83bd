"""What pull and push did, as text."""

from __future__ import annotations

from typing import Any


def pulled_text(told: dict[str, Any], to: str) -> str:
    """What was pulled, and how to read it."""
    return "\n".join(
        [
            f"pulled    {told['records']:,} rows of {told['source']} as of {told['snapshot']}"
            + (" (were there already)" if told["again"] else ""),
            f"files     {told['files']:,} in {to}/data",
            f"next      afterword run --input {to}/data --format canonical --expect {to}/counts.json --out ...",
        ]
    )


def pushed_text(told: dict[str, Any]) -> str:
    """What was pushed."""
    days = told["days"]
    span = f"{days[0]} to {days[-1]}" if len(days) > 1 else "".join(days) or "none"
    rows = ", ".join(f"{n:,} {name}" for name, n in told["rows"].items())
    found = f", {told['found']:,} of them begun by an earlier attempt" if told["found"] else ""
    return "\n".join(
        [
            f"pushed    release {told['release_id'][:12]} to {told['to']}",
            f"rows      {rows}",
            f"replaced  {len(days):,} day(s) of the {told['days_of']} ({span}); {told['loads']:,} load jobs{found}",
        ]
    )
