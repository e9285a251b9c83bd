"""Rows of the views as files: one example of each form, and what every view makes of it.

`python -m tests.golden_files` writes them, a test holds the code to them. Trainers read these rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipeline.writers.views import VIEWS
from schemas import EXAMPLE

FOLDER: Final = Path(__file__).parent / "golden" / "views"


def slot(name: str | None, value: str | None, start: int | None = None, end: int | None = None) -> dict[str, Any]:
    """A slot, or an argument."""
    return {"name": name, "value": value, "start": start, "end": end}


def context_turn(utterance: str, response: str, tool: str | None = None, *arguments: dict[str, Any]) -> dict[str, Any]:
    """A turn of a context; its id is its utterance."""
    return {
        "turn_id": utterance,
        "utterance": utterance,
        "tool": tool,
        "arguments": list(arguments) if tool else None,
        "response": response,
        "p_defect": 0.125,
        "domain": "tool" if tool else "(none)",
    }


def example(example_id: str, **fields: Any) -> dict[str, Any]:
    """One EXAMPLE row; what is not named is that of a correction by two users."""
    return {
        "example_id": example_id,
        "locale": "en",
        "utterance": "to rome",
        "domain": "travel",
        "intent": "go",
        "slots": [],
        "response": None,
        "context": None,
        "kind": "correction",
        "blame": "none",
        "confidence": 0.75,
        "support": 2,
        "agreement": 1.0,
        "solve_rate": None,
        "certified": False,
        "provenance": {
            "turn_ids": [f"{example_id}-turn"],
            "supporting_turns": [],
            "domains": [fields.get("domain") or "(none)"],
            "defect_model_id": "defect",
            "correction_model_id": "correction",
            "policies": ["p1"],
        },
        "split": "train",
        "weight": 0.75,
    } | fields


def answer(example_id: str, utterance: str, response: str | None, **fields: Any) -> dict[str, Any]:
    """One EXAMPLE row of an agent's answer."""
    none = {"domain": None, "intent": None, "agreement": None, "support": 1, "kind": "answer", "context": []}
    return example(example_id, utterance=utterance, response=response, **(none | fields))


def wrong(domain: str | None = None, intent: str | None = None, *slots: Any, response: str | None = None) -> Any:
    """What was done and found wrong."""
    return {"domain": domain, "intent": intent, "slots": list(slots), "response": response}


def preference(example_id: str, chosen: str | None, rejected: Any, **fields: Any) -> dict[str, Any]:
    """One EXAMPLE row of a preference between two answers."""
    return answer(example_id, "who won", chosen, kind="preference", rejected=rejected, confidence=0.9, **fields)


def rejection(example_id: str, rejected: Any, **fields: Any) -> dict[str, Any]:
    """One EXAMPLE row of a rejection: nobody knows what was right."""
    none = {"domain": None, "intent": None, "agreement": 1.0, "kind": "rejection", "rejected": rejected}
    none["blame"] = "intent"
    return example(example_id, **(none | fields))


def table(*rows: dict[str, Any]) -> pa.Table:
    """EXAMPLE rows as a table."""
    return pa.Table.from_pylist(list(rows), schema=EXAMPLE.schema)


def examples() -> pa.Table:
    """One example of each form."""
    two = [slot("to", "rome", 3, 7), slot("from", "oslo")]
    before = [
        context_turn("hello", "hello, what can I do"),
        context_turn("weather in rome", "it is sunny in rome", "get_weather", slot("city", "rome", 11, 15)),
    ]
    return table(
        example("correction", slots=two, blame="slots", solve_rate=0.5, rejected=wrong("travel", "go", two[1])),
        example("no domain", utterance='say "caf\u00e9 \U0001f600"', domain=None, kind="confirmation", solve_rate=1.0),
        example("corrected tool", utterance="tomorrow", domain="tool", intent="get_weather", slots=[slot("day", "1")]),
        example("corrected alike", rejected=wrong("travel", "go", response="going to rome")),
        example(
            "corrected call",
            domain="tool",
            intent="play",
            rejected=wrong("tool", "stop", slot("what", "jazz"), response="stopped"),
        ),
        preference("preferred words", "the home team", wrong(response="it rained"), context=before[:1]),
        preference("preferred call", None, wrong(response="no idea"), domain="tool", intent="scores"),
        preference("preferred alike", "the home team", wrong(response="the home team")),
        rejection("rejected reading", wrong("travel", "stay", two[0], response="staying"), blame="intent"),
        rejection("rejected words", wrong(response="I like trains"), context=before),
        rejection("rejected call", wrong("tool", "buy", slot("item", "rome")), context=[]),
        rejection("rejected unknown", None, blame="none"),
        answer("in words", "and what should I wear", "a light coat", context=before),
        answer("tool", "any news", "nothing new", domain="tool", intent="list_news"),
        answer(
            "tool after words",
            "buy eggs and milk, twice",
            None,
            domain="tool",
            intent="buy",
            slots=[slot("times", "2"), slot("item", "eggs"), slot("item", "milk")],
            context=before[:1],
        ),
    )


def text(view: str) -> str:
    """A golden file's text."""
    return json.dumps(VIEWS[view](examples()).to_pylist(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for view in VIEWS:
        (FOLDER / f"{view}.json").write_text(text(view), encoding="utf-8")
    print(f"{len(VIEWS)} files in {FOLDER}")
