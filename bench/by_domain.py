"""What thresholds by domain promise, held against what comes: users that the models have not seen."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from features.hashing import hash64, strings
from models.fitted import Models
from models.judge import judge
from models.training import train
from schemas import GOLD, NO_DOMAIN

F64 = npt.NDArray[np.float64]

# Percent of the training turns that people have judged.
JUDGED: Final = 40
_KEY: Final = "afterword/judged"
# Turns that a domain needs for its precision to say something.
LEAST: Final = 30
_BATCH: Final = 10_000


def figures(turns: pa.Table, signals: pa.Table, wrong: F64, learned: int) -> dict[str, float]:
    """Precision of what is taken and of what is certified, over all and in the worst domain.

    Beside it (`baseline`): one threshold, the pooled one, for all domains.

    Parameters
    ----------
    turns : pyarrow.Table
        n TURN rows (`interpretations`), in the order of `signals`.
    signals : pyarrow.Table
        n SIGNALS rows of whole sessions, in order.
    wrong : numpy.ndarray, shape (n,)
        Truth.
    learned : int
        Turns that are learned from, the first ones; the others are judged.
    """
    models = train(signals.slice(0, learned).combine_chunks(), _gold(signals, wrong, learned))
    judged = pd.concat(_judged(turns, signals, models, at) for at in range(learned, len(wrong), _BATCH))
    judged["wrong"] = wrong[learned:]
    held = [t.basis for t in models.threshold.domains.values()]
    out = {f"domains.{basis}": float(held.count(basis)) for basis in ("domain", "pooled", "abstain")}
    pooled = judged["p_defect"] >= models.threshold.pooled.value
    arms = {"taken": judged["is_defect"], "certified": judged["certified"], "taken.baseline": pooled}
    for name, taken in arms.items():
        out |= _precision(name, judged[taken], float(judged["wrong"].sum()))
    return out


def _gold(signals: pa.Table, wrong: F64, learned: int) -> pa.Table:
    names = strings(signals["turn_id"].slice(0, learned))
    at = np.flatnonzero(hash64(names, _KEY) % np.uint64(100) < JUDGED)
    rows = {"turn_id": names[at], "definition": ["wrong_interpretation"] * len(at), "value": wrong[at]}
    rows |= {"source": ["truth"] * len(at)}
    return GOLD.conform(pa.table({n: rows.get(n, pa.nulls(len(at), GOLD.schema.field(n).type)) for n in GOLD.names}))


def _judged(turns: pa.Table, signals: pa.Table, models: Models, at: int) -> pd.DataFrame:
    parts = (table.slice(at, _BATCH).combine_chunks() for table in (turns, signals))
    return judge(*parts, models)[0].select(["domain", "p_defect", "is_defect", "certified"]).to_pandas()


def _precision(name: str, taken: pd.DataFrame, wrong: float) -> dict[str, float]:
    by = taken.groupby(taken["domain"].fillna(NO_DOMAIN))["wrong"].agg(["size", "mean"])
    worst = by["mean"][by["size"] >= LEAST]
    return {
        f"{name}.precision": float(taken["wrong"].mean()),
        f"{name}.recall": float(taken["wrong"].sum()) / wrong,
        f"{name}.worst": float(worst.min()) if len(worst) else float("nan"),
    }
