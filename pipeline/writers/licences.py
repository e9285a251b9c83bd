"""Under which licences the texts of a release are, as its examples' provenance has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from features.interpretation import list_offsets
from features.text import flat

# Before a licence's name in counts, and the count of examples of which no turn states one.
LICENCE: Final = "of_licence."
NO_LICENCE: Final = "without_licence"


def count_licences(examples: pa.Table) -> dict[str, int]:
    """Examples by each licence that a turn behind them states, and those of which none does, for COUNT rows.

    An example that rests on texts under several is counted under each.
    """
    lists = flat(examples["provenance"]).field("licences")
    told = {f"{LICENCE}{row['values']}": row["counts"] for row in lists.flatten().value_counts().to_pylist()}
    offsets = list_offsets(lists)
    none = int((offsets[1:] == offsets[:-1]).sum())
    return told | ({NO_LICENCE: none} if none else {})


def licences(counts: Mapping[str, int]) -> dict[str, int]:
    """Licence to examples, by the counts of a stage."""
    return {k.removeprefix(LICENCE): n for k, n in sorted(counts.items()) if k.startswith(LICENCE) and n}


def under(counts: Mapping[str, int]) -> list[str]:
    """The licences that a release as a whole is under; empty where an example states none, as that is not known."""
    return [] if counts.get(NO_LICENCE) else list(licences(counts))
