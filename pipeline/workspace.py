"""Where a run keeps what lies between its stages, and how a stage knows that an earlier one is whole and its own.

<out>/stages/<stage>/                the stage's tables, one Parquet file a bucket
<out>/stages/<stage>/files.parquet   name, size and hash of each file of them
<out>/stages/<stage>/stage.json      written last: what the stage was made from, what it left, and its counts
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from pipeline import checksums, storage
from pipeline.errors import StageError
from pipeline.version import code_version
from schemas import COUNT, FILE, Record

_UPSTREAM: Final[dict[str, tuple[str, ...]]] = {
    "ingest": (),
    "signals": ("ingest",),
    "train": ("ingest", "signals"),
    "label": ("ingest", "signals", "train"),
    "curate": ("ingest", "label"),
    "release": ("ingest", "train", "label", "curate"),
}

# Checksums read at once, where each is a request to a store.
_READERS: Final = 16


@dataclass(frozen=True)
class Workspace:
    """Paths of one output folder."""

    out: str

    def stage(self, stage: str) -> str:
        """Folder of a stage."""
        return storage.join(self.out, "stages", stage)

    def table(self, stage: str, name: str) -> str:
        """Folder of one of a stage's tables."""
        return storage.join(self.stage(stage), name)

    def spill(self, stage: str) -> str:
        """Folder of a stage's shuffle files."""
        return storage.join(self.out, "stages", "spill", stage)

    def begin(self, stage: str, resumed: bool = False) -> None:
        """Clear a stage, after its upstream was found whole. Its marker goes first.

        One that is `resumed` keeps what it has: jobs of it are done, or still write.
        """
        self.require(stage)
        if resumed:
            return
        storage.remove(self._marker(stage))
        storage.remove(self.stage(stage))
        storage.remove(self.spill(stage))
        storage.make_folder(self.stage(stage))

    def whole(self, stage: str) -> bool:
        """Whether a stage has been run to its end."""
        return storage.exists(self._marker(stage))

    def upstream(self, stage: str) -> dict[str, str]:
        """Fingerprints of what a stage reads.

        Raises
        ------
        StageError
            If one of them has not been run to its end.
        """
        return {s: self.fingerprint(s) for s in _UPSTREAM[stage]}

    def finish(self, stage: str, facts: dict[str, Any]) -> None:
        """Mark a stage whole. `facts` are what later stages and the manifest need of it."""
        storage.remove(self.spill(stage))
        marker = {"stage": stage, "code": code_version(), "upstream": self.upstream(stage), "facts": facts}
        marker["files"] = self._write_files(stage)
        storage.write_bytes(self._marker(stage), storage.readable_json(marker), durable=True)

    def facts(self, stage: str) -> dict[str, Any]:
        """What a whole stage left behind for others.

        Raises
        ------
        StageError
            If the stage has not been run to its end.
        """
        return dict(self._read(stage)["facts"])

    def counts(self, stage: str) -> pa.Table:
        """COUNT rows of a stage."""
        return storage.read_table(self.counts_file(stage), COUNT.schema)

    def counts_file(self, stage: str) -> str:
        """Where they lie."""
        return storage.join(self.stage(stage), "counts.parquet")

    def fingerprint(self, stage: str) -> str:
        """SHA-256 of a stage's marker."""
        self._read(stage)
        return storage.sha256(storage.read_bytes(self._marker(stage)))

    def require(self, stage: str) -> None:
        """Check that everything a stage reads is whole, of this code, and made from each other.

        Raises
        ------
        StageError
            If not, with the command to run.
        """
        for upstream in _UPSTREAM[stage]:
            marker = self._read(upstream)
            if marker["code"] != code_version():
                raise StageError(
                    f"{self.stage(upstream)}: made by code {marker['code']}, this is {code_version()}; "
                    f"run `afterword {upstream}` and what follows it again"
                )
            for earlier, fingerprint in marker["upstream"].items():
                if self.fingerprint(earlier) != fingerprint:
                    raise StageError(
                        f"{self.stage(upstream)}: made from another run of {earlier}; "
                        f"run `afterword {upstream}` and what follows it again"
                    )
            self._check_files(upstream, marker["files"])

    def agree(self, stage: str) -> None:
        """Check that a stage and all that it was made from are whole and made from each other, whatever the code.

        Raises
        ------
        StageError
            If not.
        """
        for earlier, fingerprint in self._read(stage)["upstream"].items():
            if self.fingerprint(earlier) != fingerprint:
                raise StageError(f"{self.stage(stage)}: made from another run of {earlier}")
            self.agree(earlier)

    def buckets(self, stage: str, name: str) -> list[int]:
        """Numbers of a table's buckets."""
        return self.bucket_numbers(self.table(stage, name))

    def bucket_sizes(self, stage: str, name: str) -> dict[int, int]:
        """Bytes of a table's buckets, by number."""
        return _bucket_sizes(self.table(stage, name))

    @staticmethod
    def bucket_numbers(folder: str) -> list[int]:
        """Numbers of the buckets in a table's folder, the largest first."""
        return largest_first(_bucket_sizes(folder))

    def read(self, stage: str, name: str, record: Record, columns: list[str] | None = None) -> pa.Table:
        """A whole table of a stage, buckets in order. For small tables."""
        paths = storage.files(self.table(stage, name), "bucket-*.parquet")
        tables = [storage.read_table(p, record.schema, columns) for p in paths]
        return pa.concat_tables(tables) if tables else record.empty().select(columns or list(record.names))

    def _files(self, stage: str) -> str:
        return storage.join(self.stage(stage), "files.parquet")

    def _write_files(self, stage: str) -> str:
        """Put the checksums of a stage's files together as FILE rows; gives the hash of the list."""
        folder = self.stage(stage)
        sums = [path for path in storage.sizes(folder) if checksums.is_sum(path)]
        with ThreadPoolExecutor(_READERS) as readers:
            held = zip(map(checksums.summed_path, sums), readers.map(storage.read_bytes, sums), strict=True)
            rows = [{"path": path[len(folder) + 1 :], **checksums.parse(path, data)} for path, data in held]
        data = storage.encode(FILE.conform(pa.Table.from_pylist(rows, schema=FILE.schema).sort_by("path")))
        storage.write_bytes(self._files(stage), data)
        return storage.sha256(data)

    def _check_files(self, stage: str, sha256: str) -> None:
        """Check that every file that a stage left is there, by name and size. Hashes are checked where it is read."""
        path = self._files(stage)
        if not storage.exists(path) or storage.sha256(storage.read_bytes(path)) != sha256:
            raise StageError(f"{path}: not the list that stage {stage} wrote; {checksums.advice(path)}")
        sizes = storage.sizes(self.stage(stage))
        for row in storage.read_table(path, FILE.schema).to_pylist():
            file = storage.join(self.stage(stage), row["path"])
            if sizes.get(file) != row["bytes"]:
                found = f"{sizes[file]:,} bytes" if file in sizes else "missing"
                raise StageError(f"{file}: {found}, {row['bytes']:,} bytes were written; {checksums.advice(file)}")
            if checksums.sum_path(file) not in sizes:
                raise StageError(f"{file}: its checksum is missing; {checksums.advice(file)}")

    def _marker(self, stage: str) -> str:
        return storage.join(self.stage(stage), "stage.json")

    def _read(self, stage: str) -> dict[str, Any]:
        path = self._marker(stage)
        if not storage.exists(path):
            raise StageError(f"{self.stage(stage)}: no whole run of stage {stage}; run `afterword {stage}` first")
        marker: dict[str, Any] = json.loads(storage.read_bytes(path))
        return marker


def largest_first(sizes: dict[int, int]) -> list[int]:
    """Numbers of buckets; where one holds a user of very many turns, it is not begun when all others are done."""
    return sorted(sizes, key=lambda number: (-sizes[number], number))


def _bucket_sizes(folder: str) -> dict[int, int]:
    paths = storage.sizes(folder, "bucket-*.parquet")
    return {int(path.rsplit("bucket-", 1)[1].removesuffix(".parquet")): size for path, size in paths.items()}
