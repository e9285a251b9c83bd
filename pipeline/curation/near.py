"""What near-duplicates are: examples that share most of their letter sequences, and which of them is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.text import flat
from pipeline.curation.candidates import BAND, PAIR, pairs
from pipeline.curation.exact import cut_rows, exact_pairs
from pipeline.curation.minhash import Bands, bands_for
from pipeline.curation.resolve import EDGE, ranks, resolve
from pipeline.curation.shingles import I64, Shingles, jaccard, shingles, windows
from pipeline.curation.texts import labels, texts


@dataclass(frozen=True)
class NearOptions:
    """What near-duplicates are.

    Attributes
    ----------
    likeness : float
        Least Jaccard similarity of two texts' shingles.
    width : int
        Letters of a shingle.
    exact : bool
        No pair may be missed: all examples are compared, not those alone that share a band; which is for few of them.
    """

    likeness: float
    width: int
    exact: bool = False

    @property
    def bands(self) -> Bands:
        """The bands that bring such pairs together."""
        return bands_for(self.likeness)

    @property
    def detail(self) -> str:
        """The option that decides, as LEFT_OUT tells it."""
        return (
            f"at least {self.likeness:g} of their {self.width}-letter sequences are shared (curate.duplicate_likeness)"
        )


def near_options(curate: Mapping[str, Any], pooled: int) -> NearOptions | None:
    """What near-duplicates are among so many pooled examples; None = they are not looked for.

    Parameters
    ----------
    curate : mapping
        Section `curate` of a configuration.
    pooled : int
    """
    if not curate["deduplicate"]:
        return None
    return NearOptions(curate["duplicate_likeness"], curate["duplicate_letters"], pooled <= curate["duplicate_exact"])


def band_rows(examples: pa.Table, key: I64, options: NearOptions) -> pa.Table:
    """BAND rows of examples; those without a signature have none."""
    held = windows(texts(examples), options.width)
    some = np.flatnonzero(held.sizes)
    label, test = labels(examples), strings(examples["split"]) == "test"
    signed, many = options.bands.sign(held), options.bands.bands
    columns = [
        signed.bands[:, some].T.ravel(),
        *(np.repeat(v[some], many) for v in (key, label, test, *signed.sketches)),
    ]
    return pa.table([pa.array(c) for c in columns], schema=BAND)


def near_rows(examples: pa.Table, key: I64, options: NearOptions) -> pa.Table:
    """What pairs are found from: CUT rows where no pair may be missed, else BAND rows."""
    return cut_rows(examples, key, options.width) if options.exact else band_rows(examples, key, options)


def near_pairs(rows: pa.Table, options: NearOptions) -> Iterator[pa.Table]:
    """PAIR tables from all the rows of `near_rows`, or of some whole bands."""
    return (exact_pairs if options.exact else pairs)(rows, options.likeness)


@dataclass(frozen=True)
class Side:
    """What is known of one example of each of n pairs.

    Attributes
    ----------
    rank : numpy.ndarray of int64, shape (n,)
    id : pyarrow.StringArray, shape (n,)
    test : numpy.ndarray of bool, shape (n,)
    shingles : Shingles
    """

    rank: I64
    id: pa.Array
    test: npt.NDArray[np.bool_]
    shingles: Shingles


def side(examples: pa.Table, rows: I64, width: int) -> Side:
    """One side of pairs, by its rows of `examples`; each example's text is cut once."""
    wanted, at = np.unique(rows, return_inverse=True)
    held = examples.take(pa.array(wanted))
    rank = ranks(strings(held["kind"]), held["support"].to_numpy())
    test = strings(held["split"]) == "test"
    return Side(rank[at], flat(held["example_id"]).take(pa.array(at)), test[at], shingles(texts(held), width).take(at))


def edges(couples: pa.Table, first: Side, second: Side, likeness: float) -> pa.Table:
    """EDGE rows of the pairs that are alike, of pairs across the split the example of test first.

    Parameters
    ----------
    couples : pyarrow.Table
        n PAIR rows, each pair once.
    first, second : Side
    likeness : float
    """
    similarity = jaccard(first.shingles, second.shingles)
    told = {name: flat(couples[name]) for name in PAIR.names}
    for name, held in (("first", first), ("second", second)):
        told |= {f"{name}_rank": pa.array(held.rank), f"{name}_id": held.id}
    told |= {"similarity": pa.array(similarity), "across": pa.array(first.test != second.test)}
    table = pa.table([told[name] for name in EDGE.names], schema=EDGE)
    return _test_first(table, second.test).filter(pa.array(similarity >= likeness))


def near_duplicates(examples: pa.Table, options: NearOptions) -> pa.Table:
    """VERDICT rows of a whole table, in memory; `key` is the row. What the transform gives for any buckets.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.
    options : NearOptions
    """
    key = np.arange(examples.num_rows)
    found = near_pairs(near_rows(examples, key, options), options)
    couples = once(pa.concat_tables([PAIR.empty_table(), *found]))
    first, second = (side(examples, couples[name].to_numpy(), options.width) for name in PAIR.names)
    return resolve(edges(couples, first, second, options.likeness), options.detail)


def once(couples: pa.Table) -> pa.Table:
    """Each pair once, whatever bands it shares."""
    return couples.group_by(PAIR.names, use_threads=False).aggregate([])


def _test_first(edges: pa.Table, second_is_test: npt.NDArray[np.bool_]) -> pa.Table:
    """Edges across the split with the example of test first."""
    turn = pa.array(edges["across"].to_numpy() & second_is_test)
    other = {"first": "second", "second": "first"}
    columns = []
    for name in EDGE.names:
        side, _, rest = name.partition("_")
        twin = f"{other[side]}_{rest}".rstrip("_") if side in other else name
        columns.append(pc.if_else(turn, edges[twin], edges[name]))
    return pa.table(columns, schema=EDGE)
