"""`afterword verify`: a release proved from its files alone."""

from __future__ import annotations

import argparse

from pipeline import storage
from pipeline.commands import opening
from pipeline.publish import publisher
from pipeline.verify import verify


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Print the proofs of a release, of an output folder's current one."""
    folder = opening.folder(arguments.release)
    if not storage.exists(storage.join(folder, "manifest.json")) and storage.exists(storage.join(folder, "CURRENT")):
        folder = storage.join(folder, "releases", publisher(folder).current() or "")
    for proof in verify(folder, without_tail=True):
        print(f"verified  {proof}")
    print(f"release   {folder}")
    return 0
