"""LeftOut: an example that was pooled and then kept out of the release, and why. The reasons are a closed list."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import pyarrow as pa

from schemas.example import KINDS, PROVENANCE, SPLITS
from schemas.record import Column, Record


class LeftOutReason(StrEnum):
    """Why a pooled example is not released, in the order in which the passes ask; the first that holds is given."""

    KNOWN = "known"
    CONTRADICTS_TRAINING_SET = "contradicts_training_set"
    CONTAMINATED = "contaminated"
    DUPLICATE_ACROSS_SPLITS = "duplicate_across_splits"
    NEAR_DUPLICATE = "near_duplicate"
    OVER_CAP = "over_cap"
    NOT_SAMPLED = "not_sampled"


LEFT_OUT_MEANINGS: Final[dict[LeftOutReason, str]] = {
    LeftOutReason.KNOWN: "the present training set has it, with the same label",
    LeftOutReason.CONTRADICTS_TRAINING_SET: "the present training set has these words with another label",
    LeftOutReason.CONTAMINATED: "an evaluation set has its words, or a long run of them",
    LeftOutReason.DUPLICATE_ACROSS_SPLITS: "a test example that reads like one of train",
    LeftOutReason.NEAR_DUPLICATE: "an example with the same label that reads alike is kept in its place",
    LeftOutReason.OVER_CAP: "its user, intent or domain has as many examples as one may have",
    LeftOutReason.NOT_SAMPLED: "a confirmation of an intent that has more of them than the sampling takes",
}

LEFT_OUT: Final = Record(
    name="left_out",
    version=2,
    key=("example_id",),
    meaning="A pooled example that is not released, and why. Holds no text of a user.",
    columns=(
        Column("example_id", pa.string(), "Id of the example", None, False, "key"),
        Column("split", pa.string(), f"One of: {', '.join(SPLITS)}", None, False),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("reason", pa.string(), f"One of: {', '.join(LeftOutReason)}", None, False),
        Column(
            "of",
            pa.string(),
            "What it stands against: an example_id, or file:row of a set that was given; null = nothing single",
        ),
        Column("similarity", pa.float64(), "How alike the two are; null = not measured", "[0, 1]"),
        Column("detail", pa.string(), "What was found, and the option that decides; no text of a user", None, False),
        Column(
            "provenance",
            PROVENANCE,
            "Turns, judged domains, models, policies, licences, users and conversations",
            None,
            False,
        ),
    ),
)
