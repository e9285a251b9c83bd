"""A small made-up log in which wrong readings are followed by a repair: enough to train on in a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from build import interpretation, turns

from features.interpretation import flatten, hex_id
from features.signals import signals
from features.timeline import sort
from schemas import GOLD

CITIES = ("rome", "oslo", "lima", "cairo", "delhi", "quito")


def log(users: int = 150, seed: int = 0) -> tuple[pa.Table, pa.Table]:
    """Turns and their gold: each user asks for some cities; a third of the best readings is wrong and is denied."""
    generator = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    truth: list[str] = []
    for user in range(users):
        at = 3600.0 * user
        for step in range(3):
            meant, other = generator.choice(CITIES, 2, replace=False)
            wrong = generator.random() < 0.35
            score = generator.uniform(0.2, 0.6) if wrong else generator.uniform(0.5, 0.95)
            heard = [
                interpretation("go", score, city=other if wrong else meant),
                interpretation("go", score / 2, city=meant if wrong else other),
            ]
            common = {"subject_id": f"u{user:03d}", "conversation_id": f"c{user:03d}", "executed": 0}
            rows.append(
                common
                | {
                    "turn_id": f"t{user:03d}-{step}a",
                    "at": at,
                    "sequence": 2 * step,
                    "nbest": heard,
                    "utterance": f"to {other if wrong else meant}",
                    "prompt": "where to",
                    "response": f"{heard[0]['slots'][0]['value']} is that right",
                }
            )
            said = "no" if wrong and generator.random() < 0.8 else "yes"
            act = interpretation("negate" if said == "no" else "affirm", 0.9)
            rows.append(
                common
                | {
                    "turn_id": f"t{user:03d}-{step}b",
                    "at": at + 5,
                    "sequence": 2 * step + 1,
                    "nbest": [act],
                    "utterance": said,
                    "response": "all right",
                }
            )
            truth += [meant, ""]
            at += 20
    table = turns(*rows)
    return sort(table), _gold(table, truth)


def _gold(table: pa.Table, truth: list[str]) -> pa.Table:
    flat = flatten(table["interpretations"])
    ids = hex_id(flat.candidate_id)
    rows = []
    for k, (turn_id, meant) in enumerate(zip(table["turn_id"].to_pylist(), truth, strict=True)):
        right = [flat.values[at] == meant for at in range(flat.offsets[k], flat.offsets[k + 1])]
        rows.append((turn_id, "wrong_interpretation", None, float(not right[0])))
        rows += [(turn_id, "right_interpretation", ids[flat.offsets[k] + j], float(r)) for j, r in enumerate(right)]
    return pa.Table.from_pylist(
        [{"turn_id": t, "definition": d, "candidate_id": c, "value": v, "source": "made up"} for t, d, c, v in rows],
        schema=GOLD.schema,
    )


def with_signals(users: int = 150, seed: int = 0) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Turns, signals and gold."""
    table, gold = log(users, seed)
    return table, signals(table), gold
