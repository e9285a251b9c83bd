"""The texts of a turn: where each stands, what its field is called, and how it is put back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pipeline.privacy.edits import Edits
from pipeline.privacy.finding import Finding

# Columns that hold one text, JSON apart.
PLAIN: Final = ("utterance", "prompt", "response")
# Deeper JSON is left as it is in its depths; hostile nesting must not end a run.
_DEPTH: Final = 60
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)


@dataclass
class Cell:
    """One text of a record.

    Attributes
    ----------
    column : str
        Column, and the field inside it.
    text : str
    hint : str
        Name of the slot, or key in the JSON, that holds it; empty for speech.
    number : bool
        A number of a JSON text.
    marks : list of (Finding, int)
        What was replaced, and where its mark stands now.
    """

    column: str
    text: str
    hint: str = ""
    number: bool = False
    marks: list[tuple[Finding, int]] = field(default_factory=list)

    def edit(self, edits: Edits) -> None:
        """Replace."""
        self.text = edits.apply(self.text)
        self.marks = [(f, edits.start(at)) for f, at in self.marks]
        self.marks += list(zip(edits.findings, edits.places, strict=True))


class Json:
    """A JSON text; its texts and numbers are cells, its keys stay."""

    def __init__(self, column: str, tree: Any, hint: str = "") -> None:
        self.cells: list[Cell] = []
        self._tree = self._leaves(tree, column, hint, _DEPTH)

    @staticmethod
    def parsed(text: str) -> Any:
        """The object or list that a text holds, else None."""
        if text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None

    def text(self) -> str:
        """The JSON with its cells as they are now; a number stays one unless it was replaced."""
        return _ENCODER.encode(self._filled(self._tree))

    def _leaves(self, value: Any, column: str, hint: str, depth: int) -> Any:
        """The tree with a cell in place of each text, and of each number that may be one."""
        if depth == 0:
            return value
        if isinstance(value, dict):
            return {k: self._leaves(v, column, k, depth - 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self._leaves(v, column, hint, depth - 1) for v in value]
        if isinstance(value, str):
            return self._cell(Cell(column, value, hint))
        if isinstance(value, int) and not isinstance(value, bool):
            return value, self._cell(Cell(column, str(value), hint, number=True))
        return value

    def _cell(self, cell: Cell) -> Cell:
        self.cells.append(cell)
        return cell

    def _filled(self, tree: Any) -> Any:
        if isinstance(tree, dict):
            return {k: self._filled(v) for k, v in tree.items()}
        if isinstance(tree, list):
            return [self._filled(v) for v in tree]
        if isinstance(tree, tuple):
            return tree[1].text if tree[1].marks else tree[0]
        return tree.text if isinstance(tree, Cell) else tree


def leaves(text: str, column: str, hint: str = "") -> Iterator[tuple[str, str]]:
    """Texts to look at in a text that may be JSON, each with its hint."""
    tree = Json.parsed(text)
    if tree is None:
        yield text, hint
    else:
        yield from ((cell.text, cell.hint) for cell in Json(column, tree, hint).cells)
