"""What gates look at: a summary a stage and a domain, and samples of rows without their texts.

A sample's columns may all be null, whatever the table that it is drawn from says: a gate has to see what should not be
there.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.example import EXAMPLE
from schemas.judgement import JUDGEMENT, NO_DOMAIN
from schemas.record import Column, Record
from schemas.signals import SIGNALS
from schemas.turn import TURN

STAGE_SUMMARY: Final = Record(
    name="stage_summary",
    version=1,
    key=("stage",),
    meaning="The exact counts of each stage before release, one row a stage.",
    columns=(
        Column("stage", pa.string(), "ingest, signals, label or curate", None, False, "key"),
        Column("expected_in", pa.int64(), "Rows that the stage before handed on, counted there", "rows", False),
        Column("rows_in", pa.int64(), "Rows that the stage counted in", "rows", False),
        Column("rows_out", pa.int64(), "Rows that it accounts for: kept, or gone for a named reason", "rows", False),
        Column("kept", pa.int64(), "Rows that it handed on", "rows", False),
        Column("written", pa.int64(), "Rows that its table holds now", "rows", False),
        Column("dead_letter_share", pa.float64(), "Dead letters among the records read; 0 after ingest", "share"),
    ),
)

_NO_PARENT: Final = "null = no parent release, or too few turns in one of the two"

DOMAIN_SUMMARY: Final = Record(
    name="domain_summary",
    version=2,
    key=("domain",),
    meaning="The exact counts of each domain, one row a domain.",
    columns=(
        Column("domain", pa.string(), f"Domain of the interpretation judged; {NO_DOMAIN} = none", None, False, "key"),
        Column("turns", pa.int64(), "Turns judged", "turns", False),
        Column("defects", pa.int64(), "Turns judged defective", "turns", False),
        Column("corrected", pa.int64(), "Turns with an accepted correction", "turns", False),
        Column("examples", pa.int64(), "Examples whose label is of the domain", "examples", False),
        Column("judged", pa.bool_(), "It has at least gates.min_domain_turns turns, so its shares say something"),
        Column("defect_share", pa.float64(), "Defective turns among its turns; null = no turns", "share"),
        Column("correction_share", pa.float64(), "Corrected turns among its turns; null = no turns", "share"),
        Column("defect_shift", pa.float64(), f"Change of defect_share since the parent; {_NO_PARENT}", "share"),
        Column("intent_shift", pa.float64(), f"Jensen-Shannon divergence of its intents; {_NO_PARENT}", "[0, 1]"),
        Column("length_shift", pa.float64(), f"The same of its utterances' lengths; {_NO_PARENT}", "[0, 1]"),
    ),
)


def _sample(record: Record, names: tuple[str, ...], *derived: Column) -> Record:
    """Some columns of a record, null allowed, and what is derived from the others."""
    held = (Column(c.name, c.type, c.meaning, c.unit, True, c.group) for c in record.columns if c.name in names)
    return Record(
        name=f"{record.name}_sample",
        version=1,
        key=record.key[:1],
        meaning=f"The {record.name} rows of lowest key hash, up to gates.sample_rows, as read and without texts.",
        columns=(*held, *derived),
    )


TURN_SAMPLE: Final = _sample(
    TURN,
    ("turn_id", "subject_id", "event_time", "executed", "outcome", "explicit_rating", "propensity"),
    Column("utterance_length", pa.int32(), "Length of the utterance without blanks around it", "code points"),
)
SIGNAL_SAMPLE: Final = _sample(
    SIGNALS,
    (
        "turn_id",
        "subject_id",
        "session_id",
        "turns_before",
        "turns_after",
        "gap_before",
        "gap_after",
        "rephrase_best",
        "explicit_rating",
        "sentiment",
    ),
    Column("begins", pa.bool_(), "It is the first turn of its session"),
    Column("named_first", pa.bool_(), "The session has its id from it"),
    Column("without_gap", pa.bool_(), "Nothing came before it in the session"),
)
JUDGEMENT_SAMPLE: Final = _sample(
    JUDGEMENT,
    ("turn_id", "model_id", "session_id", "p_defect", "threshold", "is_defect", "certified", "blame"),
    Column("at_threshold", pa.bool_(), "p_defect >= threshold"),
    Column("blamed", pa.bool_(), "Blame names a component"),
    Column("certified_defect", pa.bool_(), "certified and is_defect"),
)
EXAMPLE_SAMPLE: Final = _sample(
    EXAMPLE,
    ("example_id", "kind", "blame", "confidence", "support", "agreement", "certified", "split", "weight"),
    Column("utterance_length", pa.int32(), "Length of the utterance without blanks around it", "code points"),
    Column("label_length", pa.int32(), "Length of the intent; of an answer without one, of the answer", "code points"),
    Column("turns", pa.int32(), "Turns that its provenance names", "turns"),
)

VIEW_SAMPLE: Final = Record(
    name="view_sample",
    version=1,
    key=("row",),
    meaning="Rows of the views, as written, without their texts.",
    columns=(
        Column("row", pa.string(), "View and id of the row", None, False, "key"),
        Column("view", pa.string(), "Name of the view", None, False),
        Column("prompt_length", pa.int32(), "Length of what comes before the reply", "code points"),
        Column("completion_length", pa.int32(), "Length of the reply, of a pair's shorter one", "code points"),
        Column("well_formed", pa.bool_(), "JSON texts parse, tags are as many as tokens, roles stand as readers want"),
    ),
)
