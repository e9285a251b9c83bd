"""What becomes of a turn or of an example, in the words that every text for people has for it.

The keys are what counts, tables and JSON have; they do not change.
"""

from __future__ import annotations

from typing import Final

from schemas.left_out import LeftOutReason

# Of a turn that is in no example, or in one.
OF_TURNS: Final[dict[str, str]] = {
    # Turns that cast no vote.
    "no_consent": "not allowed to be learned from",
    "expired": "past its time to be deleted",
    "excluded": "kept out of learning",
    "licence": "under a licence that is not allowed",
    "no_words": "without words",
    "uncertain": "not sure enough",
    "unknown_label": "no label of the ontology",
    "outside_split": "beyond the cut in time",
    "conversation_in_train": "in a conversation that train has",
    # Turns whose vote came to nothing.
    "below_support": "said by too few users",
    "disagreement": "meant otherwise by too many",
    "outvoted": "meant otherwise by more",
    "contradicted": "rejected, but right for others",
    "in_train": "in words that train has",
    # Turns that are in an example.
    "kept": "in an example",
    "de_duplicated": "in an example of other words",
}
# Of an example that is not released.
OF_EXAMPLES: Final[dict[str, str]] = {
    LeftOutReason.KNOWN: "in the training set already",
    LeftOutReason.CONTRADICTS_TRAINING_SET: "against the training set",
    LeftOutReason.CONTAMINATED: "in an evaluation set",
    LeftOutReason.DUPLICATE_ACROSS_SPLITS: "like one of train",
    LeftOutReason.NEAR_DUPLICATE: "like one that is kept",
    LeftOutReason.OVER_CAP: "over a cap",
    LeftOutReason.NOT_SAMPLED: "not sampled",
    "quarantined": "of a quarantined domain",
    "forgotten": "of a forgotten user",
}


def outcome_words(outcome: str) -> str:
    """An outcome for people; one of later code by its name."""
    return (OF_TURNS | OF_EXAMPLES).get(outcome, outcome.replace("_", " "))
