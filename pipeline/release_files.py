"""The files of a release, as proofs look at them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.memory import give_back
from pipeline.writers.views import VIEWS
from schemas import DEAD_LETTER, EXAMPLE, GOLD, LEFT_OUT, TAIL, Record

# Of every table that a release may hold.
RECORDS: Final[dict[str, Record]] = {
    **{name: view.record for name, view in VIEWS.items()},
    "lineage": EXAMPLE,
    "left_out": LEFT_OUT,
    "dead_letters": DEAD_LETTER,
    "tail": TAIL,
    "tail_gold": GOLD,
}


@dataclass
class ReleaseFiles:
    """A release, with the tables that several proofs look at: each is read once.

    Attributes
    ----------
    folder : str
    manifest : dict
    withheld : frozenset of str
        Files of the tail that are not looked for, as the release was handed on without any of them.
    """

    folder: str
    manifest: dict[str, Any]
    withheld: frozenset[str] = frozenset()

    @cached_property
    def lineage(self) -> pa.Table:
        """All EXAMPLE rows."""
        return self._whole("lineage", EXAMPLE)

    @cached_property
    def left_out(self) -> pa.Table:
        """All LEFT_OUT rows."""
        return self._whole("left_out", LEFT_OUT)

    def let_go(self) -> None:
        """Hold no table any more."""
        for name in ("lineage", "left_out"):
            self.__dict__.pop(name, None)
        give_back()

    def paths(self, view: str) -> list[str]:
        """Files of a view, of the lineage or of another table."""
        return [path for path in self.manifest["files"] if path.startswith(f"{view}/data/")]

    def read(self, path: str, record: Record) -> pa.Table:
        """One file.

        Raises
        ------
        VerifyError
            If it cannot be read as the record.
        """
        try:
            return storage.read_table(storage.join(self.folder, path), record.schema)
        except (pa.ArrowInvalid, ValueError, OSError) as error:
            raise VerifyError(f"{path}: cannot be read as {record.name} ({error})") from None

    def _whole(self, view: str, record: Record) -> pa.Table:
        return pa.concat_tables([record.empty(), *(self.read(path, record) for path in self.paths(view))])
