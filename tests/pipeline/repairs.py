"""A made-up log in which some words are nearly always misread, and users say what they meant until it is understood."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

from synthetic import START, lines

CITIES = ("nice", "reading", "split", "bath", "tours", "mobile")
FINE = ("go to {}", "take me to {}", "drive to {} now")
# No cut on the probability of a confirmation, so that what confirms does not hang on the models of a made-up log.
SETTINGS = ("--format", "canonical", "--set", "train.folds=2", "--set", "curate.confirm_below=0.5")


def records(users: int = 200, seed: int = 3) -> list[dict[str, Any]]:
    """Each user asks for the weather, which is misread, and for two ways, which are not.

    Seven in eight say no and ask again in other words, which are understood; the others say no and leave it.
    """
    draw = random.Random(seed)
    out: list[dict[str, Any]] = []
    for user in range(users):
        said: list[tuple[str, list[dict[str, Any]], str]] = []
        for _ in range(2):
            city = draw.choice(CITIES)
            right, wrong = _reading("go", city, draw), _reading("weather", city, draw, 0.3)
            said += [(draw.choice(FINE).format(city), [right, wrong], f"{city} is that right"), _yes()]
        city = draw.choice(CITIES)
        right, wrong = _reading("weather", city, draw, 0.4), _reading("go", city, draw, 0.6)
        misread = (f"how is it over in {city}", [wrong, right], f"to {city} is that right")
        again = (f"the weather in {city}", [right | {"score": 0.9}], f"weather in {city} is that right")
        no = ("no that is wrong", [{"domain": "travel", "intent": "negate", "slots": [], "score": 0.95}], "sorry")
        said[2:2] = [misread, no] if user % 8 == 0 else [misread, no, again, _yes()]
        for sequence, (text, heard, response) in enumerate(said):
            out.append(
                {
                    "turn_id": f"r{user:03d}-{sequence}",
                    "user_id": f"r{user:03d}",
                    "sequence": sequence,
                    "event_time": (START + timedelta(hours=user, seconds=12 * sequence)).isoformat(),
                    "utterance": text,
                    "interpretations": heard,
                    "executed": 0,
                    "response": response,
                }
            )
    return out


def write_log(folder: Path) -> Path:
    """The log as one file."""
    (folder / "log.jsonl").write_bytes(lines(*records()))
    return folder


def _yes() -> tuple[str, list[dict[str, Any]], str]:
    return "yes", [{"domain": "travel", "intent": "affirm", "slots": [], "score": 0.95}], "all right"


def _reading(intent: str, city: str, draw: random.Random, at: float = 0.85) -> dict[str, Any]:
    slots = [{"name": "city", "value": city}]
    return {"domain": "travel", "intent": intent, "slots": slots, "score": round(at + draw.uniform(-0.1, 0.1), 4)}
