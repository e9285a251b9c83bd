"""Turns and dead letters redacted, with counts and the audited sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from features.interpretation import flatten, hex_id
from pipeline.privacy.cells import Cell, Json, leaves
from pipeline.privacy.edits import Edits
from pipeline.privacy.find import Finder
from pipeline.privacy.finding import merged
from pipeline.privacy.options import PrivacyOptions
from pipeline.privacy.row import Row, look
from pipeline.privacy.sample import Changed, drawn
from pipeline.privacy.texts import hits, texts_of
from schemas import REDACTION, TURN


@dataclass(frozen=True)
class Redacted:
    """A batch without what was found in it.

    Attributes
    ----------
    turns, gold, dead : pyarrow.Table
        The rows that were given, in their order.
    counts : dict
        `redacted.<TYPE>` (values replaced), `redacted.turns`, `redacted.dead_letters` (rows that held one) and
        `platform_marks` (marks that the log came with); without those of which there are none.
    sample : pyarrow.Table
        REDACTION rows.
    """

    turns: pa.Table
    gold: pa.Table
    dead: list[pa.Table]
    counts: dict[str, int]
    sample: pa.Table


class Redactor:
    """Redacts batches. Threads may share one; making it is cheap, and raises a ConfigError for a plug that is none."""

    def __init__(self, options: PrivacyOptions) -> None:
        self._options = options
        self._finder = Finder(options)

    def redact(self, turns: pa.Table, gold: pa.Table, dead: Iterable[pa.Table]) -> Redacted:
        """Redact what a reader read.

        Parameters
        ----------
        turns : pyarrow.Table
            TURN rows.
        gold : pyarrow.Table
            GOLD rows read with them: a label of an interpretation whose slots were redacted goes with it.
        dead : iterable of pyarrow.Table
            DEAD_LETTER rows.
        """
        if not self._options.redact:
            return Redacted(turns, gold, list(dead), {}, REDACTION.empty())
        counts: Counter[str] = Counter()
        rows, counts["platform_marks"] = self._rows(turns)
        changed: list[Changed] = []
        if len(rows):
            turns, gold, by_turn = self._redact_rows(turns, gold, rows)
            counts["redacted.turns"] = sum(map(bool, by_turn))
            changed += chain.from_iterable(by_turn)
        letters = [self._dead(table, changed, counts) for table in dead]
        for found in changed:
            counts.update(f"redacted.{finding.type}" for finding, _ in found.cell.marks)
        sample = drawn(changed, self._options.sample_rows)
        return Redacted(turns, gold, letters, {k: n for k, n in sorted(counts.items()) if n}, sample)

    def _rows(self, turns: pa.Table) -> tuple[np.ndarray[Any, Any], int]:
        """Rows that hold something to redact, and marks that the log came with."""
        found, marks = [], 0
        for texts in texts_of(turns):
            rows, held = hits(texts, self._finder)
            found.append(rows)
            marks += held
        return np.unique(np.concatenate(found)), marks

    def _redact_rows(
        self, turns: pa.Table, gold: pa.Table, rows: np.ndarray[Any, Any]
    ) -> tuple[pa.Table, pa.Table, list[list[Changed]]]:
        before = turns.take(pa.array(rows))
        records = before.to_pylist()
        changed = []
        for record in records:
            changed.append([Changed(record["turn_id"], cell) for cell in Row(record).redact(self._finder)])
        after = pa.Table.from_pylist(records, schema=TURN.schema)
        # The order of the rows stays: what is read last supersedes.
        order = np.arange(turns.num_rows)
        order[rows] = turns.num_rows + np.arange(len(rows))
        return pa.concat_tables([turns, after]).take(pa.array(order)), _relabelled(gold, before, after), changed

    def _dead(self, dead: pa.Table, changed: list[Changed], counts: Counter[str]) -> pa.Table:
        """Dead letters hold no text of the user; what a path or a message may hold goes too."""
        out = dead
        for column in ("detail", "record"):
            texts = dead[column].to_pylist()
            cells = {text: self._letter(column, text) for text in sorted({t for t in texts if t})}
            new = {text: written for text, (written, marked) in cells.items() if marked}
            if new:
                counts["redacted.dead_letters"] += sum(text in new for text in texts)
                changed += [Changed(None, cell) for text in texts if text in new for cell in cells[text][1]]
                values = pa.array([new.get(text, text) for text in texts], pa.string())
                out = out.set_column(out.column_names.index(column), dead.schema.field(column), values)
        return out

    def _letter(self, column: str, text: str) -> tuple[str, list[Cell]]:
        """A dead letter's text redacted, and its cells that changed."""
        if not any(self._finder.find(*leaf) for leaf in leaves(text, column)):
            return text, []
        tree = Json.parsed(text)
        whole = None if tree is None else Json(f"dead_letter.{column}", tree)
        cells = [Cell(f"dead_letter.{column}", text)] if whole is None else whole.cells
        for cell in cells:
            while found := look(self._finder, cell):
                cell.edit(Edits(merged(found)))
        return (cells[0].text if whole is None else whole.text()), [c for c in cells if c.marks]


def _relabelled(gold: pa.Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """Labels with the ids that their interpretations have after redaction."""
    if not gold.num_rows:
        return gold
    ids = before["turn_id"].to_pylist()
    old, new = (flatten(t["interpretations"]) for t in (before, after))
    renamed = {
        (ids[turn], a): b
        for turn, a, b in zip(old.turn.tolist(), hex_id(old.candidate_id), hex_id(new.candidate_id), strict=True)
        if a != b
    }
    if not renamed:
        return gold
    keys = zip(gold["turn_id"].to_pylist(), gold["candidate_id"].to_pylist(), strict=True)
    candidates = pa.array([renamed.get(key, key[1]) for key in keys], pa.string())
    at = gold.column_names.index("candidate_id")
    return gold.set_column(at, gold.schema.field("candidate_id"), candidates)
