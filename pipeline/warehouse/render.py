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
