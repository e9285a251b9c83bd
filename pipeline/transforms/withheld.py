"""Which examples a quarantined domain has part in: by its label, or by the turns that it was made from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from features.text import flat
from pipeline.transforms.counts import domain_names


def withheld_for(examples: pa.Table, domains: tuple[str, ...]) -> pa.Array:
    """The one of `domains` that each example is withheld for, shape (n,); null = none has part in it.

    A gate judges a domain by its turns. A correction of them may lie in another domain, and they may stand before an
    answer, so an example is withheld for the domain of its label, else for the first that one of its voting turns was
    judged in, else for that of the first turn in its context.

    Parameters
    ----------
    examples : pyarrow.Table
        n EXAMPLE rows.
    domains : tuple of str
        Quarantined domains, as `domain_names` gives them.
    """
    held = pa.array(domains, pa.string())
    label = domain_names(examples["domain"])
    of_turns = pc.struct_field(flat(examples["provenance"]), "domains")
    none = pa.scalar(None, pa.string())
    of_label = pc.if_else(pc.is_in(label, value_set=held), label, none)
    context = flat(examples["context"])
    before = context.flatten().field("domain")
    return pc.coalesce(of_label, _first(of_turns, of_turns.flatten(), held), _first(context, before, held))


def _first(lists: pa.ListArray, domain: pa.Array, held: pa.Array) -> pa.Array:
    """First domain of each list that is among `held`; null = none. `domain` is that of the lists' entries."""
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    names = domain_names(domain)
    hits = np.flatnonzero(pc.is_in(names, value_set=held).to_numpy(zero_copy_only=False))
    rows, first = np.unique(owner[hits], return_index=True)
    at, missing = np.zeros(len(lists), np.int64), np.ones(len(lists), bool)
    at[rows], missing[rows] = hits[first], False
    return names.take(pa.array(at, mask=missing))
