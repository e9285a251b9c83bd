"""Prove from a release's files alone that no answer is learned from a turn that may be defective, nor in a context."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import list_offsets
from features.text import flat
from pipeline.curation.evidence import refuse
from pipeline.thresholds import highest, lowest, of_domain
from schemas import LABEL_KINDS

F64 = npt.NDArray[np.float64]
# Probabilities are rounded to six places, and so is their mean.
_ROUNDING: Final = 1e-6


def prove_answers(manifest: dict[str, Any], lineage: pa.Table) -> str:
    """No answer is learned from a turn that may be defective, nothing else is rejected, and contexts are in bounds.

    Parameters
    ----------
    manifest : dict
    lineage : pyarrow.Table
        EXAMPLE rows of the release.

    Raises
    ------
    VerifyError
        At the first claim that does not hold.
    """
    thresholds, options = manifest["thresholds"]["defect"], manifest["identity"]["config"]["curate"]
    most = min(options["confirm_below"], highest(thresholds)) + _ROUNDING
    least = lowest(thresholds) - _ROUNDING
    kind, confidence = strings(lineage["kind"]), lineage["confidence"].to_numpy()
    context = flat(lineage["context"])
    held = context.is_valid().to_numpy(zero_copy_only=False)
    refuse(lineage, held & np.isin(kind, LABEL_KINDS), lambda k: f"is a {kind[k]} and has a context")
    refuse(
        lineage,
        (kind == "rejection") & ~(confidence >= least),
        lambda k: f"is a rejection and has p(defect) {confidence[k]:.6f}, under every threshold ({least:.6f})",
    )
    _prove_contexts(lineage, context, thresholds, options)
    answers = np.isin(kind, ("answer", "preference"))
    refuse(
        lineage,
        answers & ~(1.0 - confidence <= most),
        lambda k: f"is a {kind[k]} and has p(defect) {1.0 - confidence[k]:.6f}, over {most:.6f}",
    )
    return (
        f"{answers.sum():,} answers have p(defect) <= {most:.2f}, and no turn before one is defective or over "
        f"{options['context_below']:.2f}; at most {options['context_turns']:,} turns and "
        f"{options['context_chars']:,} characters stand before one"
    )


def _prove_contexts(
    lineage: pa.Table, context: pa.ListArray, thresholds: dict[str, Any], options: dict[str, Any]
) -> None:
    """The turns before an example are not defective, not too unsure, and not too many."""
    offsets, turns = list_offsets(context), context.flatten()
    owner = np.repeat(np.arange(len(context)), np.diff(offsets))
    defect = turns.field("p_defect").to_numpy(zero_copy_only=False).astype(np.float64)
    threshold = _thresholds(turns.field("domain"), thresholds)

    def refuse_turns(wrong: npt.NDArray[np.bool_], what: str, bound: F64) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            told = f"turn {turns.field('turn_id')[at]} has p(defect) {defect[at]}{what.format(bound[at])}"
            refuse(lineage, np.arange(len(context)) == owner[at], lambda _: told, "in the context of ")

    refuse_turns(~(defect < threshold), "; from {} on a turn is defective", threshold)
    below = np.full(len(defect), options["context_below"])
    refuse_turns(~(defect <= below), ", over curate.context_below {}", below)
    length = sum(pc.utf8_length(turns.field(n)).fill_null(0).to_numpy() for n in ("utterance", "response"))
    chars = np.bincount(owner, weights=length, minlength=len(context)).astype(np.int64)
    for name, found in (("context_turns", np.diff(offsets)), ("context_chars", chars)):
        refuse(
            lineage,
            found > options[name],
            lambda k, name=name, found=found: (
                f"are {found[k]:,} {name.partition('_')[2]}, over curate.{name} {options[name]:,}"
            ),
            "in the context of ",
        )


def _thresholds(domains: pa.Array, facts: dict[str, Any]) -> F64:
    """The threshold of defects of each turn's domain, shape (n,)."""
    found = domains.dictionary_encode()
    named = [of_domain(facts, name)["value"] for name in found.dictionary.to_pylist()]
    at = found.indices.fill_null(len(named)).to_numpy(zero_copy_only=False)
    return np.array([*named, of_domain(facts, None)["value"]], np.float64)[at]
