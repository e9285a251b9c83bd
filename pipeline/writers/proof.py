"""Prove that every view of a release is made of its examples."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa

from pipeline.errors import GateError, VerifyError
from pipeline.release_files import ReleaseFiles
from pipeline.writers.texts import with_texts
from pipeline.writers.views import VIEWS, count_rows, unwritten
from schemas import EXAMPLE

# Shards that are proved at once; each is held whole, with its views.
_THREADS: Final = 2


def prove_views(release: ReleaseFiles) -> str:
    """Every view follows from the lineage, shard by shard: no more than a shard and the smaller views are held."""
    folder, manifest = release.folder, release.manifest
    release.let_go()
    shards = release.paths("lineage")
    left = set(unwritten(manifest["counts"]["release"]))
    with ThreadPoolExecutor(_THREADS) as threads:
        proved = list(threads.map(lambda path: _shard_views(release, path, left), shards))
    counts = sum((Counter(counted) for counted, _ in proved), Counter())
    told = {k: n for k, n in manifest["counts"]["release"].items() if k.startswith("view_rows.") and n}
    if dict(counts) != told:
        raise VerifyError(f"{folder}: rows by split and view {told}, the examples in lineage say {dict(counts)}")
    rows = []
    for name, view in VIEWS.items():
        # A view of few rows lies in fewer shards than its examples.
        made = [table for _, others in proved for table in others.get(name, ())]
        paths = [p for p in release.paths(name) if p.replace(f"{name}/", "lineage/", 1) not in manifest["files"]]
        held = [release.read(path, view.record) for path in paths]
        key = view.record.key[0]
        whole = (pa.concat_tables([view.record.empty(), *tables]).sort_by(key) for tables in (made, held))
        if not next(whole).equals(next(whole)):
            raise VerifyError(f"{name}: not the view of the examples in lineage")
        rows.append(f"{name} {sum(manifest['files'][p]['rows'] for p in release.paths(name)):,}")
    return f"every view is that of its examples: {', '.join(rows)} rows"


def _shard_views(
    release: ReleaseFiles, path: str, left: set[tuple[str, str]]
) -> tuple[dict[str, int], dict[str, list[pa.Table]]]:
    """Rows by view of a shard of the lineage, and the rows of views that have no shard of its name; others are the
    same.
    """
    lineage = with_texts(release.read(path, EXAMPLE))
    split = path.rsplit("/", 1)[-1].split("-")[0]
    others: dict[str, list[pa.Table]] = {}
    for name, view in VIEWS.items():
        if (split, name) in left:
            continue
        own = path.replace("lineage/", f"{name}/", 1)
        try:
            made = view(lineage)
        except GateError as error:
            raise VerifyError(f"{name}: cannot be made from the examples in lineage ({error})") from None
        if own not in release.manifest["files"]:
            others[name] = [made]
        elif not made.equals(release.read(own, view.record)):
            raise VerifyError(f"{name}: not the view of the examples in lineage ({own})")
    return count_rows(lineage), others
