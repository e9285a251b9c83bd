"""What of a release is for people and catalogues: all of it follows from the manifest."""

from __future__ import annotations

from typing import Any, Final

from pipeline import storage
from pipeline.export.package import FOLDER, package
from pipeline.writers import croissant
from pipeline.writers.card import card

GATES: Final = "gates.json"


def documents(manifest: dict[str, Any]) -> dict[str, bytes]:
    """Path in the release to content: card, Croissant, gates, and the taskset package where there are tasks.

    Parameters
    ----------
    manifest : dict
        Whether or not it lists the documents by now.
    """
    tables = {path: facts for path, facts in manifest["files"].items() if path.endswith(".parquet")}
    manifest = manifest | {"files": tables}
    has_tasks = any(path.startswith("rl/data/") for path in tables)
    return {
        "README.md": card(manifest).encode(),
        croissant.NAME: storage.readable_json(croissant.croissant(manifest)),
        GATES: storage.readable_json(manifest["gates"]),
        **({f"{FOLDER}/{name}": data for name, data in package().items()} if has_tasks else {}),
    }
