"""Prove from a release's files alone that what an example says of itself follows from what stands behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import list_offsets
from features.text import distinct, flat, is_true
from pipeline.errors import VerifyError
from pipeline.thresholds import of_domain
from pipeline.transforms.withheld import withheld_for
from schemas import FAULT_KINDS, LABEL_KINDS, LEAST_USERS, NO_DOMAIN

Mask = npt.NDArray[np.bool_]


def prove_evidence(manifest: dict[str, Any], lineage: pa.Table) -> None:
    """Turns and users of the provenance, certificates, models and weights are what they are said to be.

    Of examples that were carried over for a quarantined domain, models and thresholds are those of an earlier release;
    they are not held to this one's.

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
    provenance = flat(lineage["provenance"])
    refuse(lineage, _sizes(provenance, "turn_ids") == 0, lambda _: "names no turn that it was made from")
    users, support = _sizes(provenance, "subjects"), lineage["support"].to_numpy()
    refuse(lineage, users != support, lambda k: f"has support {support[k]}, and {users[k]} users in its provenance")
    weight, confidence = lineage["weight"].to_numpy(), lineage["confidence"].to_numpy()
    refuse(
        lineage,
        weight != confidence,
        lambda k: f"has weight {weight[k]}; it is to be the confidence, {confidence[k]}",
    )
    domains = tuple(manifest["quarantine"]["domains"])
    own = lineage.filter(pc.is_null(withheld_for(lineage, domains))) if domains else lineage
    _prove_models(manifest["identity"]["models"], own)
    _prove_certified(manifest["thresholds"], own)


def prove_support(options: dict[str, Any], lineage: pa.Table) -> None:
    """No example has less support than its kind wants, and no label less agreement than was wished.

    Parameters
    ----------
    options : dict
        Section `curate` of the configuration.
    lineage : pyarrow.Table
        EXAMPLE rows of the release.

    Raises
    ------
    VerifyError
        At the first that does not hold.
    """
    kind, support = strings(lineage["kind"]), lineage["support"].to_numpy()
    agreement = lineage["agreement"].to_numpy(zero_copy_only=False).astype(np.float64)
    low = np.zeros(len(kind), bool)
    for name, option in LEAST_USERS.items():
        low |= (kind == name) & (support < options[option])
    # None is less than any.
    low |= np.isin(kind, LABEL_KINDS) & ~(agreement >= options["min_agreement"])
    refuse(
        lineage, low, lambda k: f"has support {support[k]} and agreement {lineage['agreement'][k]}, under the minimum"
    )


def _prove_models(models: dict[str, Any], examples: pa.Table) -> None:
    provenance = flat(examples["provenance"])
    for name in ("defect", "correction"):
        said = strings(pc.fill_null(pc.struct_field(provenance, f"{name}_model_id"), "none"))
        wanted = models[name] or "none"
        refuse(
            examples,
            said != wanted,
            lambda k, said=said, name=name, wanted=wanted: (
                f"was made with {name} model {said[k]}, the release with {wanted}"
            ),
        )


def _prove_certified(thresholds: dict[str, Any], examples: pa.Table) -> None:
    """A certified example has a fault, and a domain in which the threshold of defects was certified; a correction one
    in which that of corrections was, too.
    """
    certified = is_true(examples["certified"])
    if not certified.any():
        return
    kind = strings(examples["kind"])
    refuse(
        examples,
        certified & ~np.isin(kind, FAULT_KINDS),
        lambda k: f"is a {kind[k]} and said to be certified; only what was not right is",
    )
    domains = flat(pc.struct_field(flat(examples["provenance"]), "domains"))
    for name, asked in (("defect", certified), ("correction", certified & (kind == "correction"))):
        without = asked & ~_any_certified(domains, thresholds[name])
        refuse(
            examples,
            without,
            lambda k, name=name: (
                f"is said to be certified; the {name} threshold is certified in none of its domains, "
                f"{', '.join(domains[k].as_py() or ['none'])}"
            ),
        )


def _any_certified(domains: pa.ListArray, facts: dict[str, Any]) -> Mask:
    """Whether a threshold is certified in any domain of each list, shape (n,)."""
    names = domains.flatten()
    proved = [name for name in names.unique().to_pylist() if _is_certified(facts, name)]
    owner = np.repeat(np.arange(len(domains)), np.diff(list_offsets(domains)))
    out = np.zeros(len(domains), bool)
    out[owner[is_true(pc.is_in(names, value_set=pa.array(proved, pa.string())))]] = True
    return out


def _is_certified(facts: dict[str, Any], domain: str) -> bool:
    # An empty name counts as no domain, and has a threshold of its own.
    empty = facts.get("domains", {}).get("", {}) if domain == NO_DOMAIN else {}
    return any(held.get("certified_at") is not None for held in (of_domain(facts, domain), empty))


def _sizes(provenance: pa.StructArray, member: str) -> npt.NDArray[np.int64]:
    """Distinct entries of each list, shape (n,)."""
    lists = flat(pc.struct_field(provenance, member))
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    held = distinct(lists.flatten().fill_null(""))
    each = np.unique(owner * max(len(held.dictionary), 1) + held.indices.to_numpy())
    return np.bincount(each // max(len(held.dictionary), 1), minlength=len(lists))


def refuse(examples: pa.Table, wrong: Mask, says: Callable[[int], str], where: str = "") -> None:
    """Raise for the first example of which something is wrong.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.
    wrong : numpy.ndarray of bool, shape (n,)
    says : callable
        Row to what is wrong with it.
    where : str
        Before the example's name.

    Raises
    ------
    VerifyError
        If there is one.
    """
    if wrong.any():
        at = int(np.argmax(wrong))
        raise VerifyError(f"lineage: {where}{examples['example_id'][at]} {says(at)}")
