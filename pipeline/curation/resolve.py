"""Of examples that are alike, which one stays."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from models.correction import DECIMALS
from pipeline.curation.shingles import I64
from schemas import LeftOutReason

# Two examples that are alike. `across`: the first is of test and the second of train. `*_rank`: lower is better.
EDGE: Final = pa.schema(
    [
        ("first", pa.int64()),
        ("second", pa.int64()),
        ("similarity", pa.float64()),
        ("across", pa.bool_()),
        ("first_rank", pa.int64()),
        ("second_rank", pa.int64()),
        ("first_id", pa.string()),
        ("second_id", pa.string()),
    ]
)
# What a pass says of an example: its key, and columns of LEFT_OUT.
VERDICT: Final = pa.schema(
    [
        ("key", pa.int64()),
        ("reason", pa.string()),
        ("of", pa.string()),
        ("similarity", pa.float64()),
        ("detail", pa.string()),
    ]
)
# Corrections before confirmations, then the more users: what a rank is made of, the lower half for the users.
_USERS: Final = 1 << 32


def verdicts(key: I64, **told: pa.Array) -> pa.Table:
    """VERDICT rows with the given columns; the others are null."""
    columns = {"key": pa.array(key)} | told
    return pa.table([columns.get(f.name, pa.nulls(len(key), f.type)) for f in VERDICT], schema=VERDICT)


def ranks(kind: npt.NDArray[np.object_], support: npt.NDArray[np.int32]) -> I64:
    """Which of two examples is kept, the lower; equal ones by example_id, shape (n,)."""
    return (kind == "confirmation") * _USERS + (_USERS - 1 - support.astype(np.int64))


def resolve(edges: pa.Table, detail: str) -> pa.Table:
    """VERDICT rows of the examples that give way, in the order of their ids.

    An example of test gives way to any of train that reads alike. Of those that teach the same the best is kept, then
    the best of those that are not alike to it, and so on: what is left out is alike to what it is left out for, not
    merely to something between, and no two that are kept are alike. All of it follows from ids and not from the order
    of the rows.

    Parameters
    ----------
    edges : pyarrow.Table
        EDGE rows, each once.
    detail : str
    """
    frame = edges.to_pandas()
    across = frame[frame["across"]]
    leaks = across.sort_values(["first_id", "similarity", "second_id"], ascending=[True, False, True])
    leaks = leaks.drop_duplicates("first_id")
    within = frame[~frame["across"]]
    gone = leaks["first_id"]
    within = within[~within["first_id"].isin(gone) & ~within["second_id"].isin(gone)]
    named = [(LeftOutReason.DUPLICATE_ACROSS_SPLITS, leaks), (LeftOutReason.NEAR_DUPLICATE, _given_way(within))]
    rows = pd.concat([part.assign(reason=str(reason)) for reason, part in named])
    rows = rows.rename(columns={"first": "key", "second_id": "of"}).assign(detail=detail).sort_values("first_id")
    rows["similarity"] = rows["similarity"].round(DECIMALS)
    return pa.Table.from_pandas(rows[VERDICT.names], VERDICT, preserve_index=False)


def _given_way(edges: pd.DataFrame) -> pd.DataFrame:
    """For each example that gives way its edge to the best one that is kept; `first` gives way to `second`."""
    edges = _worse_first(edges)
    nodes = pd.concat(
        [edges[[s, f"{s}_rank", f"{s}_id"]].set_axis(["key", "rank", "id"], axis=1) for s in ("first", "second")]
    ).drop_duplicates("key")
    order = nodes.sort_values(["rank", "id"])["key"].to_numpy()
    place = pd.Index(order)
    worse, better = place.get_indexer(edges["first"]), place.get_indexer(edges["second"])
    kept = greedy(worse, better, len(order))
    held = edges.assign(better=better)[kept[better] & ~kept[worse]]
    return held.sort_values(["first", "better"]).drop_duplicates("first").drop(columns="better")


def _worse_first(edges: pd.DataFrame) -> pd.DataFrame:
    """Edges turned so that `first` is the one that would give way."""
    turn = (edges["first_rank"] < edges["second_rank"]) | (
        (edges["first_rank"] == edges["second_rank"]) & (edges["first_id"] < edges["second_id"])
    )
    other = {"first": "second", "second": "first", "first_rank": "second_rank", "second_rank": "first_rank"}
    other |= {"first_id": "second_id", "second_id": "first_id"}
    return pd.concat([edges[~turn], edges[turn].rename(columns=other)[edges.columns]])


def greedy(worse: I64, better: I64, nodes: int) -> npt.NDArray[np.bool_]:
    """Which nodes are kept, going through them in order: each one that has no kept neighbour before it, shape (nodes,).

    Parameters
    ----------
    worse, better : numpy.ndarray of int64, shape (edges,)
        Nodes of each edge; better < worse.
    nodes : int
    """
    kept, out = np.zeros(nodes, bool), np.zeros(nodes, bool)
    while len(worse):
        waits = np.zeros(nodes, bool)
        waits[worse] = True
        # A node that waits for nobody is kept; all that are alike to it and behind it are out.
        sure = ~waits & ~out
        kept |= sure
        out[worse[sure[better]]] = True
        stays = ~out[worse] & ~out[better]
        worse, better = worse[stays], better[stays]
    return kept | ~out
