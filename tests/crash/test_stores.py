"""A whole run whose output lies on an object store: the same release, byte for byte, as on a disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from emulators import gcs, s3
from site_of_runs import SECOND, Site
from synthetic import SETTINGS, afterword

from pipeline import storage
from pipeline.errors import AfterwordError
from pipeline.publish import CURRENT, publisher
from pipeline.publish_stores import GcsPublisher, S3Publisher

pytestmark = pytest.mark.long


def tree(folder: str) -> dict[str, bytes]:
    """Every file below a folder of a store, by its relative path."""
    return {path[len(folder) + 1 :]: storage.read_bytes(path) for path in storage.files(folder, "**")}


@pytest.mark.parametrize(("store", "kind"), [(s3, S3Publisher), (gcs, GcsPublisher)])
def test_a_run_onto_a_store_gives_the_bytes_of_a_run_onto_a_disk_and_switches_last(
    store: Callable[[], AbstractContextManager[str]],
    kind: type[Any],
    site: Site,
    log: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    with store() as bucket:
        out = f"{bucket}/made"
        assert afterword("run", "--input", log, *SETTINGS, "--out", out) == 0
        assert publisher(out).current() == site.old

        replace = kind._replace

        def crash(store: Any, name: str, *rest: Any) -> bool:
            if name == CURRENT:
                raise AfterwordError("the process ends here")
            return replace(store, name, *rest)  # type: ignore[no-any-return]

        again = ("run", "--from", "curate", *SETTINGS[2:], *SECOND, "--out", out)
        with monkeypatch.context() as patch:
            patch.setattr(kind, "_replace", crash)
            assert afterword(*again) == 1
        # The release is whole, but nobody is pointed to it.
        assert publisher(out).current() == site.old
        assert afterword("verify", out) == 0 and afterword("verify", f"{out}/releases/{site.new}") == 0
        assert afterword("release", *again[3:]) == 0
        assert publisher(out).current() == site.new
        assert tree(f"{out}/releases/{site.new}") == site.wanted
        capsys.readouterr()
        assert afterword("verify", out) == 0 and site.new in capsys.readouterr().out
        path = storage.files(f"{out}/stages/ingest/turns", "bucket-*")[0]
        storage.write_bytes(path, storage.read_bytes(path)[:-1])
        assert afterword("signals", "--out", out) == 7
