"""A release read for one example: which it is, what it holds of the example, and where its rows lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import manifest as manifests
from pipeline import storage
from pipeline.errors import ConfigError, InputError, PublishError, StageError
from pipeline.publish import publisher
from pipeline.transforms.withheld import withheld_for
from pipeline.writers.views import VIEWS
from schemas import EXAMPLE, NO_DOMAIN

# An id may be cut to so many characters: 32 bits, enough for one among a hundred thousand most of the time.
SHORTEST_PREFIX: Final = 8
# What holds a row for an example, and the column that names it.
_KEYS: Final = {"lineage": EXAMPLE.key[0]} | {name: view.record.key[0] for name, view in VIEWS.items()}


@dataclass(frozen=True)
class Release:
    """One release's folder and manifest."""

    folder: str
    manifest: dict[str, Any]
    is_current: bool

    @property
    def id(self) -> str:
        """The release id."""
        return str(self.manifest["release_id"])

    @property
    def quarantine(self) -> dict[str, Any]:
        """Its quarantined domains, and the release that their examples are from; see pipeline/gates/quarantine.py."""
        return dict(self.manifest.get("quarantine") or {"domains": {}, "carried_from": None})

    def quarantine_of(self, example: dict[str, Any]) -> dict[str, Any] | None:
        """The quarantine that an example falls under, by its label, its turns or its context; None = under none."""
        table = pa.Table.from_pylist([example], schema=EXAMPLE.schema)
        domain = withheld_for(table, tuple(self.quarantine["domains"]))[0].as_py()
        return None if domain is None else self.quarantine_by(domain)

    def quarantine_by(self, domain: str | None) -> dict[str, Any] | None:
        """The quarantine of a domain; None where there is none."""
        name = domain or NO_DOMAIN
        entry = self.quarantine["domains"].get(name)
        return None if entry is None else {"domain": name, "carried_from": self.quarantine["carried_from"], **entry}

    def left_out(self, name: str) -> dict[str, Any] | None:
        """The LEFT_OUT row of an example of this id, as `find` gives it."""
        return self.find(name, "left_out")

    def left_out_of_turn(self, turn_id: str) -> dict[str, Any] | None:
        """The LEFT_OUT row of the example that a turn voted for; None where that was not left out."""
        return next(iter(self._behind("left_out", "turn_ids", turn_id)), None)

    def find(self, name: str, view: str = "lineage") -> dict[str, Any] | None:
        """The example of this id, or the only one whose id begins so; None where there is none.

        Raises
        ------
        InputError
            If several begin so.
        """
        exact, begun = [], []
        for path in self._files(view):
            ids = self._column(path, "example_id")
            rows = np.flatnonzero(flat(pc.starts_with(ids, name)).to_numpy(zero_copy_only=False)).tolist()
            begun += [(path, row, ids[row].as_py()) for row in rows]
        exact = [hit for hit in begun if hit[2] == name]
        hits = exact or (begun if len(name) >= SHORTEST_PREFIX else [])
        if len(hits) > 1:
            some = ", ".join(hit[2] for hit in hits[:3])
            raise InputError(f"{name}: {len(hits)} examples begin so ({some} ...); give more of the id")
        return self._row(*hits[0][:2]) if hits else None

    def of_turn(self, turn_id: str) -> list[tuple[dict[str, Any], str]]:
        """The examples that a turn is behind, and as what: `voted` (one at most) goes before `supports`."""
        found = []
        for member, role in (("turn_ids", "voted"), ("supporting_turns", "supports")):
            found += [(row, role) for row in self._behind("lineage", member, turn_id)]
        return found

    def _behind(self, view: str, member: str, turn_id: str) -> list[dict[str, Any]]:
        """Rows of a table whose provenance has a turn."""
        found = []
        for path in self._files(view):
            lists = flat(self._column(path, "provenance")).field(member)
            owners = pc.list_parent_indices(lists).filter(pc.equal(lists.flatten(), turn_id))
            found += [self._row(path, row) for row in owners.to_pylist()]
        return found

    def places(self, example: dict[str, Any]) -> list[dict[str, Any]]:
        """Where the example's rows stand: view, file, row from 0."""
        found = []
        for path in self.manifest["files"]:
            view, _, name = path.partition("/data/")
            if view in _KEYS and name.startswith(example["split"]):
                equal = pc.equal(self._column(path, _KEYS[view]), example["example_id"])
                rows = np.flatnonzero(flat(equal).to_numpy(zero_copy_only=False)).tolist()
                found += [{"view": view, "file": path, "row": row} for row in rows]
        return found

    def examples(self) -> int:
        """How many examples there are."""
        return sum(self.manifest["files"][path]["rows"] for path in self._files("lineage"))

    def _files(self, view: str) -> list[str]:
        return [path for path in self.manifest["files"] if path.startswith(f"{view}/data/")]

    def _column(self, path: str, column: str) -> pa.ChunkedArray:
        with storage.open_parquet(storage.join(self.folder, path)) as file:
            return file.read(columns=[column])[column]

    def _row(self, path: str, row: int) -> dict[str, Any]:
        with storage.open_parquet(storage.join(self.folder, path)) as file:
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if row < rows:
                    return dict(file.read_row_group(group).slice(row, 1).to_pylist()[0])
                row -= rows
        raise StageError(f"{path}: {row} rows fewer than its ids; run `afterword verify`")


def open_release(out: str, name: str | None, option: str = "--release") -> Release:
    """The release that CURRENT names, or the one whose id is given or begins as given.

    Parameters
    ----------
    out : str
    name : str or None
    option : str
        What of the command line gives the name, for errors; empty where the command has no option for it.

    Raises
    ------
    ConfigError
        If no release, or more than one, has the id asked for, or the store has no CURRENT.
    StageError
        If there is no release yet.
    """
    try:
        current = publisher(out).current()
    except PublishError:
        # A store without an atomic switch has no CURRENT.
        if name is None:
            raise
        current = None
    if name is None:
        if current is None:
            other = f", or give {option}" if option else ", or give a release id"
            raise StageError(f"{out}: no release is current; run `afterword run` first{other}")
        name = current
    ids = [path.rsplit("/", 2)[-2] for path in storage.files(storage.join(out, "releases"), f"*/{manifests.NAME}")]
    found = [i for i in ids if i == name or (len(name) >= SHORTEST_PREFIX and i.startswith(name))]
    if len(found) != 1:
        held = ", ".join(i[:12] for i in ids[:5]) or "none"
        asked = f"{option} {name}" if option else f"release {name}"
        raise ConfigError(
            f"{asked}: {len(found)} of the releases of {out} begin so ({SHORTEST_PREFIX} characters are wanted at "
            f"least); there are: {held}"
        )
    folder = storage.join(out, "releases", found[0])
    return Release(folder, manifests.read(folder), found[0] == current)
