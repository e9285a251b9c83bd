"""What the configuration says of turns before anything is written: opt-outs, then the ontology."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.filters.opt_out import OptOuts
from pipeline.ontology.govern import govern, with_names_now
from pipeline.ontology.labels import Ontology
from schemas import DEAD_LETTER, RENAMED


@dataclass(frozen=True)
class Admitted:
    """Turns and labels that go on, dead letters, and what is to be told of the rest.

    Attributes
    ----------
    turns, gold, dead : pyarrow.Table
        TURN, GOLD and DEAD_LETTER rows.
    counts : dict of str to int
        Of labels, see `pipeline.ontology.govern.Governed`.
    renamed : pyarrow.Table
        RENAMED rows.
    """

    turns: pa.Table
    gold: pa.Table
    dead: pa.Table
    counts: dict[str, int]
    renamed: pa.Table


@dataclass(frozen=True)
class Admission:
    """Which turns are let in, and under which names.

    Attributes
    ----------
    opt_outs : OptOuts or None
    ontology : Ontology or None
    labelled : pyarrow.StringArray or None
        Turns that labels of files speak of.
    """

    opt_outs: OptOuts | None = None
    ontology: Ontology | None = None
    labelled: pa.Array | None = None

    def let_out(self, turns: pa.Table, gold: pa.Table) -> tuple[pa.Table, pa.Table, int]:
        """Turns and labels without those of users who opted out, and how many turns that were."""
        before = turns.num_rows
        if self.opt_outs is not None:
            gone = self.opt_outs.opted_out(turns)
            if gone.any():
                theirs = turns["turn_id"].filter(pa.array(gone))
                turns = turns.filter(pa.array(~gone))
                gold = gold.filter(pc.invert(pc.is_in(gold["turn_id"], value_set=theirs)))
        return turns, gold, before - turns.num_rows

    def admit(self, turns: pa.Table, gold: pa.Table) -> Admitted:
        """Put the turns of a batch under the ontology, with the labels that were read with them."""
        if self.ontology is None:
            return Admitted(turns, gold, DEAD_LETTER.empty(), {}, RENAMED.empty())
        if not gold.num_rows:
            found = govern(turns, self.ontology, self.labelled)
            return Admitted(found.turns, gold, found.dead, found.counts, found.renamed)
        # Their own labels too: the reader named their candidates as they were.
        own = pa.chunked_array([*gold["turn_id"].chunks, *([] if self.labelled is None else [self.labelled])])
        found = govern(turns, self.ontology, own.combine_chunks())
        gold = with_names_now(gold, found.renamed)
        return Admitted(found.turns, gold, found.dead, found.counts, found.renamed)
