"""What a log is like, counted: turns by domain and intent, and by domain and length."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.transforms.counts import counts, domain_names

INTENTS: Final = "intents"
LENGTHS: Final = "lengths"
# Upper ends of the lengths that are told apart, in tokens: each holds about as many utterances of a voice assistant.
_LENGTHS: Final = (1, 2, 4, 8, 16, 32)
_LONGER: Final = f"{_LENGTHS[-1] + 1}+"
_NO_INTENT: Final = "(none)"


def profile_counts(signals: pa.Table) -> pa.Table:
    """COUNT rows of a bucket: turns by domain and intent, and by domain and length.

    Parameters
    ----------
    signals : pyarrow.Table
        Signals rows.
    """
    domain = domain_names(signals["domain"])
    intent = pc.fill_null(signals["intent"].combine_chunks(), _NO_INTENT)
    bins = np.searchsorted(_LENGTHS, pc.fill_null(signals["utterance_tokens"], 0).to_numpy())
    length = pa.array([*map(str, _LENGTHS), _LONGER]).take(pa.array(bins))
    found: dict[tuple[str, str | None], int] = {}
    for name, values in ((INTENTS, intent), (LENGTHS, length)):
        table = (
            pa.table({"domain": domain, "value": values}).group_by(["domain", "value"]).aggregate([([], "count_all")])
        )
        for row in table.to_pylist():
            found[f"{name}.{row['value']}", row["domain"]] = row["count_all"]
    return counts("profile", {}, None, found)
