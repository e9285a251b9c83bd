"""How rows of examples meet."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.transforms.shuffle import Group, Partition, Shuffle


@dataclass(frozen=True)
class Shuffling:
    """Settings of every shuffle of a graph.

    Attributes
    ----------
    buckets : int
        Of rows that are spread by a hash.
    mode : str
        `spill` or `native`.
    folder : str
        Where `spill` keeps its files.
    threads : int
        Buckets that a transform works on at once.
    """

    buckets: int
    mode: str
    folder: str
    threads: int = 1

    def shuffle(self, partition: Partition) -> Shuffle:
        """Rows to whole buckets."""
        return Shuffle(partition, self.mode, self.folder, self.threads)

    def group(self, partition: Partition) -> Group:
        """Rows to the pieces of buckets, for a `WholeBuckets`."""
        return Group(partition, self.mode, self.folder, self.threads)
