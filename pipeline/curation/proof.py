"""Prove from a release's files alone what curation promises of its split, its duplicates and what it left out."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, strings
from features.text import distinct, flat
from pipeline.curation.candidates import pairs
from pipeline.curation.exact import alike_pairs, cut_rows
from pipeline.curation.near import NearOptions, band_rows, near_options
from pipeline.curation.shingles import jaccard, shingles
from pipeline.curation.texts import texts
from pipeline.errors import VerifyError
from pipeline.transforms.withheld import withheld_for
from schemas import LeftOutReason

# Of more examples than are compared exactly so many are, those of lowest hash, with all others.
_SAMPLED: Final = 2_000
_SAMPLE_KEY: Final = "afterword/proof1"
# Share of them that may have a twin: MinHash misses one pair in some hundreds, and not every example has one.
_MOST_MISSED: Final = 0.01


def prove_split(manifest: dict[str, Any], lineage: pa.Table) -> str:
    """No user and no conversation stands on both sides of the split, and no near-duplicates on both or within a label.

    The pairs are found anew, with the options of the manifest, among all examples, those that were carried over for a
    quarantined domain too.

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
    users = _on_one_side(lineage, "subjects", "user")
    conversations = _on_one_side(lineage, "conversations", "conversation")
    options = manifest["identity"]["config"]["curate"]
    on_both = f"of {users:,} users and {conversations:,} conversations none is on both sides of the split"
    near = near_options(options, manifest["counts"]["curate"].get("pooled", 0))
    if near is None:
        return f"{on_both}; near-duplicates were not looked for (curate.deduplicate)"
    found = alike(lineage, near)
    if found is not None:
        first, second, share = found
        raise VerifyError(
            f"lineage: {first} and {second} are {share:.2f} alike, and one of them was to be left out "
            f"(curate.duplicate_likeness {near.likeness:g})"
        )
    none = f"of {lineage.num_rows:,} examples no two of a label or of two sides are {near.likeness:g} alike"
    return f"{on_both}, and {none}, {_how(lineage, near)}"


def _how(lineage: pa.Table, near: NearOptions) -> str:
    """How near-duplicates were looked for; of more examples than are compared exactly, what a sample tells of MinHash.

    Raises
    ------
    VerifyError
        If MinHash missed more than it should.
    """
    if near.exact:
        return "all compared exactly"
    rows = cut_rows(lineage, np.arange(lineage.num_rows), near.width)
    hashes = hash64(strings(lineage["example_id"]), _SAMPLE_KEY)[rows["key"].to_numpy()]
    asked = np.zeros(rows.num_rows, bool)
    asked[np.argsort(hashes, kind="stable")[:_SAMPLED]] = True
    met = [np.concatenate([first, second]) for first, second, _ in alike_pairs(rows, near.likeness, asked)]
    missed = int(asked[np.unique(np.concatenate([np.zeros(0, np.int64), *met]))].sum())
    if missed > _MOST_MISSED * asked.sum():
        raise VerifyError(
            f"lineage: {missed:,} of {asked.sum():,} examples that were compared exactly with all others are "
            f"{near.likeness:g} alike with one, at most {_MOST_MISSED:.0%} may be: more than MinHash is to miss. Raise "
            f"curate.duplicate_exact over the pooled examples, so that all are compared, and run from curate"
        )
    return f"but for what MinHash misses: of {asked.sum():,} compared exactly with all others {missed:,} are like one"


def _on_one_side(lineage: pa.Table, member: str, called: str) -> int:
    """How many there are of what a list of the provenance names, none of them in two splits."""
    lists = pc.struct_field(flat(lineage["provenance"]), member)
    number, twice = on_two_sides(lists.flatten(), pc.list_value_length(lists), lineage["split"])
    if len(twice):
        raise VerifyError(f"lineage: {called} {twice[0]} stands on both sides of the split")
    return number


def on_two_sides(names: pa.Array, many: pa.Array, split: pa.ChunkedArray) -> tuple[int, pa.Array]:
    """How many distinct names there are, and those that stand in more than one split.

    Parameters
    ----------
    names : pyarrow.StringArray
    many : pyarrow.Int32Array
        How many of them each example has; null = none.
    split : pyarrow.ChunkedArray
        Split of each example.
    """
    # A lineage has about as many of them as its log has turns: as numbers, not as texts.
    held, splits = distinct(names.fill_null("")), distinct(split)
    name, side = held.indices.to_numpy(), np.repeat(splits.indices.to_numpy(), many.fill_null(0).to_numpy())
    sides = np.zeros(len(held.dictionary), np.int8)
    for each in range(len(splits.dictionary)):
        there = np.zeros(len(held.dictionary), bool)
        there[name[side == each]] = True
        sides += there
    return len(held.dictionary), held.dictionary.filter(pa.array(sides > 1))


def alike(examples: pa.Table, near: NearOptions) -> tuple[str, str, float] | None:
    """Two examples that are near-duplicates, with one label or on two sides of the split; None if there are none.

    Where no pair may be missed all are compared; else those that share a band.
    """
    ids, every = examples["example_id"], np.arange(examples.num_rows)
    if near.exact:
        rows = cut_rows(examples, every, near.width)
        key = rows["key"].to_numpy()
        for first, second, share in alike_pairs(rows, near.likeness):
            if len(first):
                return ids[key[first[0]]].as_py(), ids[key[second[0]]].as_py(), float(share[0])
        return None
    said = texts(examples)
    for table in pairs(band_rows(examples, every, near), near.likeness):
        first, second = (table[name].to_numpy() for name in ("first", "second"))
        share = jaccard(*(shingles(said.take(pa.array(side)), near.width) for side in (first, second)))
        at = int(np.argmax(share)) if len(share) else 0
        if len(share) and share[at] >= near.likeness:
            return ids[first[at]].as_py(), ids[second[at]].as_py(), float(share[at])
    return None


def prove_left_out(manifest: dict[str, Any], left_out: pa.Table, lineage: pa.Table) -> str:
    """Every example that curate counts as left out is listed, by its reason, and none of them is released.

    Raises
    ------
    VerifyError
        At the first claim that does not hold.
    """
    listed, closing = Counter(left_out["reason"].to_pylist()), manifest["closing"]["curate"]
    counted = {str(reason): closing.get(reason, 0) for reason in LeftOutReason}
    for reason in sorted(listed.keys() | counted.keys()):
        if listed.get(reason, 0) != counted.get(reason, 0):
            raise VerifyError(
                f"left_out: {listed.get(reason, 0)} examples are {reason}, curate counted {counted.get(reason, 0)}"
            )
    ids = left_out["example_id"].combine_chunks()
    if len(ids.unique()) != len(ids):
        raise VerifyError("left_out: an example id occurs twice")
    domains = tuple(manifest["quarantine"]["domains"])
    both = lineage.filter(pc.is_in(lineage["example_id"], value_set=ids))
    # What an earlier release has of a quarantined domain is carried over, whatever became of it in this one.
    both = both.filter(pc.is_null(withheld_for(both, domains))) if domains else both
    if both.num_rows:
        raise VerifyError(f"left_out: {both['example_id'][0]} is said to be left out, and is in the lineage")
    return f"{len(ids):,} examples were left out, each with its reason, and none of them is released"
