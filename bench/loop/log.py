"""The log of the loop: what an assistant of this kind writes down, and nothing of what was meant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.loop.corpus import Corpus
from bench.loop.sessions import Turns
from features.text import flat
from pipeline.transforms.check import check
from schemas import LOGGED_TURN, TURN
from schemas.turn import INTERPRETATION

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

START: Final = datetime(2026, 3, 2, tzinfo=UTC)


def response(domain: str, intent: str) -> str:
    """What the assistant says that it did. It follows from the interpretation alone."""
    return f"{domain} {intent.replace('_', ' ')}, done".capitalize()


def log(corpus: Corpus, said: Turns, labels: I64, scores: F64, policy: str) -> pa.Table:
    """Turn rows by the pipeline's own check of logged turns.

    Parameters
    ----------
    corpus : Corpus
    said : Turns
        n turns.
    labels, scores : numpy.ndarray, shape (rows of the corpus, places)
        N-best of each row of the corpus, best first.
    policy : str
        Name of the NLU model that served; begins the turns' ids.
    """
    done = np.array([response(*name) for name in corpus.names], dtype=object)
    times = [(START + timedelta(seconds=round(s, 3))).isoformat() for s in said.seconds.tolist()]
    n = len(said)
    columns = {
        "turn_id": pa.array([f"{policy}-{k:06d}" for k in range(n)], pa.string()),
        "user_id": pa.array([f"user{u:05d}" for u in said.user.tolist()], pa.string()),
        "event_time": pa.array(times, pa.string()),
        "locale": pa.repeat("en-GB", n),
        "utterance": pa.array(corpus.text[said.row], pa.string()),
        "interpretations": _nbest(corpus, labels[said.row], scores[said.row]),
        "executed": pa.array(np.zeros(n), pa.int32()),
        "response": pa.array(done[labels[said.row, 0]], pa.string()),
        "outcome": pa.repeat("answered", n),
        "barge_in": pa.array(said.barge_in),
        "policy": pa.repeat(policy, n),
        "source": pa.array(
            [{"uri": f"{policy}.jsonl", "position": k} for k in range(n)], TURN.schema.field("source").type
        ),
    }
    held = [columns.get(f.name, pa.nulls(n, f.type)) for f in LOGGED_TURN.schema]
    turns, dead = check(pa.table(held, schema=LOGGED_TURN.schema), None)
    if dead.num_rows:
        raise ValueError(f"{dead.num_rows} of {n} turns of the loop are no turns; the first: {dead.to_pylist()[0]}")
    return turns


def _nbest(corpus: Corpus, labels: I64, scores: F64) -> pa.ListArray:
    n, places = labels.shape
    names = [np.array(part, dtype=object)[labels.ravel()] for part in zip(*corpus.names, strict=True)]
    slots = pa.array([[]] * (n * places), INTERPRETATION.field("slots").type)
    entries = pa.StructArray.from_arrays(
        [pa.array(names[0], pa.string()), pa.array(names[1], pa.string()), slots, pa.array(scores.ravel().round(6))],
        fields=list(INTERPRETATION),
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1) * places, pa.int32()), entries)


def rows_of(turn_ids: pa.Array | pa.ChunkedArray) -> I64:
    """Number in its log of each turn, by its id."""
    return np.array([int(i.rpartition("-")[2]) for i in flat(turn_ids).to_pylist()], np.int64)
