"""One turn redacted: all of its texts together, as what is found in one of them must go from all."""

from __future__ import annotations

from typing import Any

from pipeline.privacy.cells import PLAIN, Cell, Json
from pipeline.privacy.edits import Edits, elsewhere, values_of
from pipeline.privacy.find import Finder
from pipeline.privacy.finding import Finding, merged

SLOTS = "interpretations.slots.value"


class _Slot:
    """A slot's value. One that is a part of the utterance, word for word, is redacted as that part."""

    def __init__(self, slot: dict[str, Any], utterance: str) -> None:
        self.slot, self.hint = slot, slot["name"] or ""
        self.start, self.end = slot["start"], slot["end"]
        value = slot["value"]
        placed = self.start is not None and self.end is not None and 0 <= self.start < self.end <= len(utterance)
        self.placed = placed
        self.exact = placed and value == utterance[self.start : self.end]
        self.hidden = False
        self.json: Json | None = None
        self.cells: list[Cell] = []
        if value and not self.exact:
            tree = Json.parsed(value)
            self.json = None if tree is None else Json(SLOTS, tree, self.hint)
            self.cells = [Cell(SLOTS, value, self.hint)] if self.json is None else self.json.cells

    def move(self, edits: Edits) -> None:
        """Keep the span on its words."""
        if self.start is None or self.end is None:
            return
        self.hidden |= edits.touch(self.start, self.end)
        # An empty span stays one.
        end = edits.end(self.end) if self.end > self.start else edits.start(self.end)
        self.start, self.end = edits.start(self.start), end

    def put_back(self, utterance: str) -> None:
        """The value and span as they are now."""
        self.slot["start"], self.slot["end"] = self.start, self.end
        changed = any(cell.marks for cell in self.cells)
        if self.exact or (self.hidden and self.placed and not changed):
            # A normalised value of what the utterance no longer says must not say it either.
            self.slot["value"] = utterance[self.start : self.end]
        elif changed:
            self.slot["value"] = self.cells[0].text if self.json is None else self.json.text()


class Row:
    """The texts of one TURN row, a dictionary, which `redact` changes in place."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row
        self._plain = {name: Cell(name, row[name]) for name in PLAIN if row[name]}
        self._asr = [
            (hypothesis, Cell("asr.text", hypothesis["text"])) for hypothesis in row["asr"] or [] if hypothesis["text"]
        ]
        utterance = row["utterance"] or ""
        self._slots = [
            _Slot(slot, utterance) for reading in row["interpretations"] or [] for slot in reading["slots"] or []
        ]
        self._extra: Json | None = None
        cells = [*self._plain.values(), *(cell for _, cell in self._asr), *(c for s in self._slots for c in s.cells)]
        if row["extra"]:
            tree = Json.parsed(row["extra"])
            self._extra = None if tree is None else Json("extra", tree)
            held = Cell("extra", row["extra"])
            if self._extra is None:
                self._plain["extra"] = held
            cells += [held] if self._extra is None else self._extra.cells
        self.cells = cells

    def redact(self, finder: Finder) -> list[Cell]:
        """Replace until nothing is found any more; gives the cells that changed.

        What is left after a replacement may read otherwise than before it; going on until nothing is found makes
        redacting a second time change nothing. Each round turns a part of a text into a mark, so it ends.
        """
        while self._round(finder):
            pass
        changed = [cell for cell in self.cells if cell.marks]
        if changed or any(slot.hidden for slot in self._slots):
            self._put_back()
        return changed

    def _round(self, finder: Finder) -> bool:
        found = {id(cell): look(finder, cell) for cell in self.cells}
        utterance = self._plain.get("utterance")
        if utterance is not None:
            of_slots = self._of_slots(finder, utterance.text)
            # A hypothesis that says the same has to go on saying the same.
            for cell in self.cells:
                if cell.text == utterance.text:
                    found[id(cell)] += of_slots
        values: dict[str, tuple[str, float]] = {}
        for cell in self.cells:
            values |= values_of(cell.text, found[id(cell)])
        if not values:
            return False
        for cell in self.cells:
            edits = Edits(merged([*found[id(cell)], *elsewhere(cell.text, values)]))
            if edits.findings:
                if cell is utterance:
                    for slot in self._slots:
                        slot.move(edits)
                cell.edit(edits)
        return True

    def _of_slots(self, finder: Finder, utterance: str) -> list[Finding]:
        """Findings in slots that are parts of the utterance, as findings of the utterance."""
        out = []
        for slot in self._slots:
            if slot.exact:
                part = utterance[slot.start : slot.end]
                out += [
                    f._replace(start=f.start + slot.start, end=f.end + slot.start) for f in finder.find(part, slot.hint)
                ]
        return out

    def _put_back(self) -> None:
        for name, cell in self._plain.items():
            self._row[name] = cell.text
        for hypothesis, cell in self._asr:
            hypothesis["text"] = cell.text
        for slot in self._slots:
            slot.put_back(self._row["utterance"] or "")
        if self._extra is not None and any(cell.marks for cell in self._extra.cells):
            self._row["extra"] = self._extra.text()


def look(finder: Finder, cell: Cell) -> list[Finding]:
    """Findings of a cell; a number is replaced as a whole or not at all."""
    found = finder.find(cell.text, cell.hint)
    if cell.number:
        return [f for f in found if (f.start, f.end) == (0, len(cell.text))]
    return list(found)
