"""A made-up log of an LLM agent: chat answers and tool calls, some of them wrong and complained about."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from synthetic import CITIES, lines

# The models of so small a log are rough; what they call sure enough is a wider band than by default.
SURE = ("--set", "curate.confirm_below=0.3", "--set", "curate.context_below=0.3")
SETTINGS = ("--format", "canonical", *SURE, "--set", "train.folds=2")
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
COMPLAINT = "no that is wrong"
# Stands in every wrong answer and in no other; a number makes each wrong answer another.
WRONG = "atlantis"


def records(users: int = 120, seed: int = 3) -> list[dict[str, Any]]:
    """Each user asks four things, one in six is answered wrongly and is complained about, then answered rightly."""
    draw = random.Random(seed)
    out: list[dict[str, Any]] = []
    for user in range(users):
        turns: list[dict[str, Any]] = []
        for city in draw.sample(CITIES, 4):
            wrong = draw.random() < 1 / 6
            ask = draw.choice((_weather, _capital, _news))
            answer = ask(city, f"{WRONG}{len(out)}-{len(turns)}" if wrong else city)
            for call in answer.get("interpretations", []):
                call["score"] = round(draw.uniform(0.2, 0.6) if wrong else draw.uniform(0.6, 0.95), 4)
            turns.append(answer)
            if wrong:
                turns.append({"utterance": COMPLAINT, "response": f"sorry, here is {city}", "explicit_rating": 1.0})
        out += _conversation(user, turns)
    return out


def _weather(asked: str, city: str) -> dict[str, Any]:
    call = {"domain": "tool", "intent": "get_weather", "slots": [{"name": "city", "value": city}]}
    return {
        "utterance": f"how is the weather in {asked}",
        "interpretations": [call],
        "executed": 0,
        "response": f"it is sunny in {city}",
        **_rating(city),
    }


def _capital(asked: str, city: str) -> dict[str, Any]:
    return {"utterance": f"tell me about {asked}", "response": f"{city} is a large city", **_rating(city)}


def _news(asked: str, city: str) -> dict[str, Any]:
    call = {"domain": "tool", "intent": "list_news" if city == asked else f"list_{WRONG}", "slots": []}
    answer = {"utterance": f"any news from {asked}", "interpretations": [call], "executed": 0}
    return answer | {"response": f"nothing new in {city}", **_rating(city)}


def _rating(city: str) -> dict[str, Any]:
    return {"explicit_rating": 0.0 if city.startswith(WRONG) else 1.0}


def _conversation(user: int, turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "turn_id": f"a{user:03d}-{k}",
            "user_id": f"a{user:03d}",
            "conversation_id": f"chat{user:03d}",
            "sequence": k,
            "event_time": (START + timedelta(hours=user, seconds=20 * k)).isoformat(),
            "locale": "en",
            # One user in thirty does not want to be learned from.
            "consent": user % 30 != 0,
        }
        | turn
        for k, turn in enumerate(turns)
    ]


def write_log(folder: Path) -> Path:
    """The log as one file."""
    (folder / "agent.jsonl").write_bytes(lines(*records()))
    return folder
