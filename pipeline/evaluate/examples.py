"""Released examples held against labels: whether what is taught is what the users of its turns meant.

A release alone is enough, so this can be told of one whose stages are gone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from features.hashing import strings
from features.interpretation import candidate_ids, hex_id, list_offsets, unscored
from features.text import flat
from models.evaluation import MAJORITY
from pipeline import storage
from pipeline.explain.release import Release
from pipeline.transforms.counts import domain_names
from schemas import EXAMPLE, LABEL_KINDS

_COLUMNS: Final = ["example_id", "kind", "domain", "intent", "slots", "provenance"]


def of_examples(release: Release, right: pd.Series) -> dict[str, Any]:
    """Precision of corrections and confirmations, over examples and over the turns behind them.

    Parameters
    ----------
    release : Release
    right : pandas.Series
        Share of raters who say that a candidate is right, by turn_id and candidate_id joined with U+001F.

    Returns
    -------
    dict
        `kinds` and `domains`, each name with `examples`, `labelled` (of which any turn has a label of what is taught),
        `right` (half of the raters or more say so, on the mean of its turns), `precision`, `turns`.
    """
    paths = [path for path in release.manifest["files"] if path.startswith("lineage/data/")]
    tables = [storage.read_table(storage.join(release.folder, p), EXAMPLE.schema, _COLUMNS) for p in paths]
    table = pa.concat_tables([EXAMPLE.empty().select(_COLUMNS), *tables])
    table = table.filter(pa.array(np.isin(strings(table["kind"]), LABEL_KINDS)))
    share, turns = _shares(table, right)
    kind, domain = strings(table["kind"]), strings(domain_names(table["domain"]))

    def by(names: Any) -> dict[str, Any]:
        return {name: _figures(share[names == name], turns[names == name]) for name in sorted(set(names.tolist()))}

    return {"all": _figures(share, turns), "kinds": by(kind), "domains": by(domain)}


def _shares(table: pa.Table, right: pd.Series) -> tuple[Any, Any]:
    """Mean label of each example over its labelled turns, NaN without one; and how many turns have one."""
    turn_ids = flat(table["provenance"]).field("turn_ids")
    owner = np.repeat(np.arange(table.num_rows), np.diff(list_offsets(turn_ids)))
    candidate = np.array(hex_id(_candidates(table)), dtype=object)
    keys = strings(turn_ids.flatten()) + "\x1f" + candidate[owner]
    value = right.reindex(keys).to_numpy(np.float64)
    known = ~np.isnan(value)
    turns = np.bincount(owner[known], minlength=table.num_rows)
    total = np.bincount(owner[known], weights=value[known], minlength=table.num_rows)
    share = np.full(table.num_rows, np.nan)
    np.divide(total, turns, out=share, where=turns > 0)
    return share, turns


def _candidates(table: pa.Table) -> Any:
    return candidate_ids(unscored(*(flat(table[name]) for name in ("domain", "intent", "slots"))))


def _figures(share: Any, turns: Any) -> dict[str, Any]:
    labelled = int((turns > 0).sum())
    right = int((share >= MAJORITY).sum())
    precision = round(right / labelled, 6) if labelled else None
    return {
        "examples": len(share),
        "labelled": labelled,
        "right": right,
        "precision": precision,
        "turns": int(turns.sum()),
    }
