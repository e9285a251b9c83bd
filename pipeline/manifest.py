"""The manifest: what a release is made of, and the id that follows from it."""

from __future__ import annotations

import json
from typing import Any, Final

from pipeline import storage
from pipeline.errors import VerifyError

FORMAT: Final = "afterword-release/1"
NAME: Final = "manifest.json"
_KEYS: Final = ("release_id", "identity", "interval", "counts", "closing", "files")


def release_id(identity: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of what the release is made from.

    Parameters
    ----------
    identity : dict
        `inputs`, `gold` and `given`, the files that options name (relative path, content hash), `config`, `code`,
        `parent`, `models`, `tombstones`; of a run in a row `taken` (the release whose tail was taken over, and the
        files); after a user was forgotten `withdrawn` (whose turns were taken out) and `replaces` (the release it was
        made from).
    """
    return storage.sha256(storage.canonical_json(identity))


def read(folder: str) -> dict[str, Any]:
    """The manifest of a release folder.

    Raises
    ------
    VerifyError
        If there is none, or it is not one of this format.
    """
    path = storage.join(folder, NAME)
    if not storage.exists(path):
        raise VerifyError(f"{folder}: no {NAME}; the release was not finished, or this is not a release")
    try:
        manifest = json.loads(storage.read_bytes(path))
    except ValueError as error:
        raise VerifyError(f"{path}: not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise VerifyError(f"{path}: format {FORMAT} is wanted")
    missing = [k for k in _KEYS if k not in manifest]
    if missing:
        raise VerifyError(f"{path}: lacks {', '.join(missing)}")
    return manifest


def releases(out: str) -> list[dict[str, Any]]:
    """Manifests of all finished releases under an output folder, by release id."""
    paths = storage.files(storage.join(out, "releases"), f"*/{NAME}")
    return [read(p.removesuffix(f"/{NAME}")) for p in paths]
