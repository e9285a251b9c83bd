"""The stages in order, and what each does. Imports nothing, so that `--help` is quick."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "ingest": "read logs to the Turn, Gold and DeadLetter tables",
    "signals": "compute satisfaction and intent signals",
    "train": "fit the defect and the correction model",
    "label": "judge every turn: defect, blame, correction",
    "curate": "pool judged turns over users to examples",
    "release": "write shards and manifest, switch CURRENT",
}
STAGES: Final = tuple(SUMMARIES)
