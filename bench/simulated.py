"""Simulated traffic: what a run finds, held against what the users of the simulator really meant.

The truth lies beside the log and is read here only. It tells how the parts work together and what a change does; how
good they are with people is for the real calls to say.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bench import blame, by_domain, lodo
from features.hashing import strings
from features.interpretation import flatten, hex_id
from features.text import flat
from models.metrics import ap, auc
from pipeline.jobs.context import Context
from pipeline.jobs.run import run
from pipeline.options import Config
from pipeline.workspace import Workspace
from simulator.options import SimulateOptions
from simulator.simulate import simulate

TURNS: Final = 60_000
# Not the seed that the simulator's rates were settled with.
SEED: Final = 2026
# Turns for the figures of unseen domains, and those that are labelled for the figures of thresholds.
LODO_TURNS: Final = 20_000
LABELLED: Final = 24_000


def figures(_: Path) -> dict[str, float]:
    """Simulate, run, compare. Reads no data set."""
    with tempfile.TemporaryDirectory() as folder:
        made, out = Path(folder) / "made", Path(folder) / "out"
        simulate(made, SimulateOptions(turns=TURNS, seed=SEED))
        context = Context(Workspace(str(out)), Config(), [])
        result = run(context, str(made / "logs"), "canonical")
        truth = _table(made / "truth").set_index("turn_id")
        judged = _table(out / "stages" / "label" / "judgements").set_index("turn_id").join(truth, lsuffix="_judged")
        signals = ds.dataset(out / "stages" / "signals" / "signals", exclude_invalid_files=False).to_table()
        score = pd.Series(signals["top_score"].to_pandas().to_numpy(), signals["turn_id"].to_pandas())
        names = ["turn_id", "utterance", "interpretations"]
        turns = ds.dataset(out / "stages" / "ingest" / "turns", exclude_invalid_files=False).to_table(columns=names)
        chosen = _table(out / "stages" / "label" / "corrections", ["turn_id", "candidate_id", "source", "accepted"])
        examples = ds.dataset(Path(result["release"]) / "lineage" / "data").to_table()
    chosen["right"] = chosen["candidate_id"] == truth["candidate_id"].reindex(chosen["turn_id"]).to_numpy()
    right = chosen["right"][chosen["accepted"]]
    return {
        "turns": len(judged),
        "wrong": float(judged["wrong"].mean()),
        **_defects(judged, 1.0 - score.reindex(judged.index).fillna(0.0).to_numpy(np.float64)),
        "corrections": len(right),
        "corrections.precision": float(right.mean()),
        **_by_source(chosen),
        **_examples(examples, truth),
        **_prefixed("blame", _blame(judged, turns.to_pandas().set_index("turn_id").reindex(judged.index))),
        **_prefixed("lodo", _unseen(signals, truth)),
        **_prefixed("thresholds", by_domain.figures(turns, signals, _wrong(signals, truth), LABELLED)),
    }


def _wrong(signals: pa.Table, truth: pd.DataFrame) -> Any:
    return truth["wrong"].reindex(signals["turn_id"].to_pylist()).to_numpy(np.float64)


def _prefixed(name: str, figures: dict[str, float]) -> dict[str, float]:
    return {f"{name}.{key}": value for key, value in figures.items()}


def _blame(judged: pd.DataFrame, turns: pd.DataFrame) -> dict[str, float]:
    """Blame against what went wrong. `judged` has the columns of the truth."""
    top = turns["interpretations"].map(lambda held: held[0] if held is not None and len(held) else None)
    meant = blame.truth_of_blame(judged, turns["utterance"], top)
    return blame.figures(judged["blame"].to_numpy(object), meant, judged["is_defect"].to_numpy(bool))


def _unseen(signals: pa.Table, truth: pd.DataFrame) -> dict[str, float]:
    """Domains that a model has not seen, on whole sessions of as many turns as a run learns from."""
    few = signals.slice(0, LODO_TURNS)
    last = few["session_id"][-1]
    few = few.filter(pc.not_equal(few["session_id"], last)).combine_chunks()
    return lodo.figures(few, _wrong(few, truth))


def _table(folder: Path, columns: list[str] | None = None) -> pd.DataFrame:
    return ds.dataset(folder, partitioning=None, exclude_invalid_files=False).to_table(columns=columns).to_pandas()


def _defects(judged: pd.DataFrame, simple: Any) -> dict[str, float]:
    wrong, found = judged["wrong"].to_numpy(np.float64), judged["is_defect"].to_numpy(bool)
    p = judged["p_defect"].to_numpy(np.float64)
    return {
        "defect.auc": auc(wrong, p),
        "defect.ap": ap(wrong, p),
        "defect.baseline.auc": auc(wrong, simple),
        "defect.baseline.ap": ap(wrong, simple),
        "defect.precision": float(wrong[found].mean()),
        "defect.recall": float(found[wrong > 0].mean()),
    }


def _by_source(chosen: pd.DataFrame) -> dict[str, float]:
    """Corrections by where they come from, and the share that is right; for the chain also of all that it proposes."""
    by_source = chosen[chosen["accepted"]].groupby("source")["right"]
    out = {f"corrections.{source}": float(n) for source, n in by_source.size().items()}
    out |= {f"corrections.{source}.precision": float(share) for source, share in by_source.mean().items()}
    proposed = chosen["right"][chosen["source"] == "chain"]
    out["chain.proposed"] = float(len(proposed))
    return out | ({"chain.proposed.precision": float(proposed.mean())} if len(proposed) else {})


def _examples(examples: pa.Table, truth: pd.DataFrame) -> dict[str, float]:
    """Examples by kind, and the share that is right: most of their turns meant the label, or did not mean what is
    rejected.
    """
    ids = np.where(strings(examples["kind"]) == "rejection", _ids(flat(examples["rejected"])), _ids(examples))
    turns = [p["turn_ids"] for p in examples["provenance"].to_pylist()]
    meant = [(truth["candidate_id"].reindex(t) == i).mean() > 0.5 for t, i in zip(turns, ids, strict=True)]
    right = np.array(meant, bool) != (strings(examples["kind"]) == "rejection")
    by_kind = pd.Series(right.astype(float)).groupby(examples["kind"].to_pandas().astype(object))
    out = {f"examples.{kind}": float(n) for kind, n in by_kind.size().items()}
    return out | {f"examples.{kind}.precision": float(share) for kind, share in by_kind.mean().items()}


def _ids(labels: pa.Table | pa.StructArray) -> npt.NDArray[np.object_]:
    """Candidate id of each label."""
    names = ["domain", "intent", "slots"]
    held = [flat(labels[n]) if isinstance(labels, pa.Table) else pc.struct_field(labels, n) for n in names]
    label = pa.StructArray.from_arrays([*held, pa.nulls(len(labels), pa.float64())], names=[*names, "score"])
    single = pa.ListArray.from_arrays(pa.array(np.arange(len(labels) + 1), pa.int32()), label)
    return hex_id(flatten(single).candidate_id)
