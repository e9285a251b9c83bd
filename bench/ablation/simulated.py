"""Simulated traffic: turns of a log and the chain of all of it, with the truth that lies beside the log."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bench.ablation.letsgo import corrections, defects
from bench.ablation.study import Study
from bench.simulated import SEED, TURNS
from features.hashing import strings
from features.interpretation import hex_id
from features.language import languages
from models.chain import Chain
from models.chain_fit import fit_chain
from models.edges import add_edges, edges_of, known_edges
from models.leading import leading_of
from models.training_table import TrainingTable, training_table
from pipeline.jobs import ingest, signals
from pipeline.jobs.context import Context
from pipeline.options import Config
from pipeline.workspace import Workspace
from schemas import GOLD, SIGNALS, TURN
from simulator.options import SimulateOptions
from simulator.simulate import simulate

F64 = npt.NDArray[np.float64]

# Half as many turns as a run learns from: three models are fitted again for each group.
LEARNED: Final = 10_000


def studies(_: Path) -> Iterator[Study]:
    """Reads no data set. All turns that are learned from are scored, out of fold."""
    table, wrong, right = learned_from(*log(TURNS), LEARNED)
    every = np.ones(len(wrong), bool)
    yield from defects("simulated", table, wrong, every)
    yield corrections("simulated", table, right, every)


def log(many: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Turns, signals and truth of a simulated log of so many turns."""
    with tempfile.TemporaryDirectory() as folder:
        made, out = Path(folder) / "made", Path(folder) / "out"
        simulate(made, SimulateOptions(turns=many, seed=SEED))
        context = Context(Workspace(str(out)), Config(), [])
        ingest.run(context, str(made / "logs"), "canonical")
        signals.run(context)
        turns = context.workspace.read("ingest", "turns", TURN, ["interpretations", "locale"])
        rows = context.workspace.read("signals", "signals", SIGNALS)
        return turns, rows, ds.dataset(made / "truth", partitioning=None).to_table()


def learned_from(
    turns: pa.Table, rows: pa.Table, truth: pa.Table, learned: int, config: Config | None = None
) -> tuple[TrainingTable, F64, F64]:
    """What a run would learn from, with what was meant.

    Parameters
    ----------
    turns, rows : pyarrow.Table
        Turn rows (`interpretations`, `locale`) and Signals rows of whole sessions, in order. The reformulation chain is
        counted over all of them.
    truth : pyarrow.Table
        Truth rows of the same turns, in any order.
    learned : int
        Turns, at most, that are learned from: the first ones, whole sessions.
    config : Config, optional

    Returns
    -------
    table : TrainingTable
        n turns, m candidates.
    wrong : numpy.ndarray, shape (n,)
        1 = the leading interpretation is not what was meant.
    right : numpy.ndarray, shape (m,)
        1 = the candidate is.
    """
    config = config or Config()
    few = rows.slice(0, learned)
    if learned < rows.num_rows and few["session_id"][-1] == rows["session_id"][learned]:
        few = few.filter(pc.not_equal(few["session_id"], few["session_id"][-1]))
    table = training_table(few.combine_chunks(), GOLD.empty(), config.train.folds, chain=chain(turns, rows, config))
    held = truth.select(["turn_id", "candidate_id", "wrong"]).to_pandas()
    meant = held.set_index("turn_id").reindex(strings(few["turn_id"]))
    candidate = np.array(hex_id(table.candidates.candidate_id), dtype=object)
    right = candidate == meant["candidate_id"].to_numpy(object)[table.candidates.turn]
    return table, meant["wrong"].to_numpy(np.float64), right.astype(np.float64)


def chain(turns: pa.Table, rows: pa.Table, config: Config) -> Chain:
    """The reformulation chain of a log's turns and their signals, as stage train counts and solves it."""
    reading, every = leading_of(rows), np.ones(rows.num_rows, bool)
    spoken = languages(turns["locale"], config.signals.language, config.signals.by_locale)
    folds, gap = config.train.folds, config.signals.rephrase_gap
    edges = add_edges([edges_of(rows, reading, turns["interpretations"], every, spoken, folds, gap)])
    return fit_chain(known_edges(edges, config.chain.min_users), folds, config.chain)
