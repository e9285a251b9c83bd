"""Judged turns to pooled examples: the first half of stage curate."""

from __future__ import annotations

from dataclasses import replace

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import storage, tally
from pipeline.curation.conversations import Shared
from pipeline.curation.known import KnownPass, compare, diff
from pipeline.transforms.counts import counts
from pipeline.transforms.pool import KEY_SEPARATOR, PoolOptions, pool
from pipeline.transforms.shuffle import Group, KeyHash, WholeBuckets
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.voters import CORRECTION_READS, TURN_READS, VoteOptions
from pipeline.transforms.votes import votes
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import CORRECTION, EXAMPLE, JUDGEMENT, TRAINING_SET_DIFF, TURN


class WordsHash(KeyHash):
    """Partition votes by their words, whatever the locale: what train has is looked for in all of test.

    An agent's context and the kind of a fault stand behind the words, and count for nothing here: what is right is
    looked for in all that is rejected.
    """

    def __init__(self, buckets: int) -> None:
        super().__init__("pool_key", buckets)

    def __call__(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Bucket of each row, shape (n,)."""
        words = pc.list_element(pc.split_pattern(flat(table["pool_key"]), KEY_SEPARATOR), 1)
        return super().__call__(pa.table({"pool_key": words}))


@beam.typehints.with_output_types(pa.Table, counts=pa.Table)
class CastVotes(SideBySide):
    """Bucket numbers to VOTE tables; counts go to the tag `counts`.

    Parameters
    ----------
    turns, judgements, corrections : str
        Folders of the tables.
    options : VoteOptions
    shared : Shared or None
        Conversations in which users of both sides of the split speak; None = there are none.
    threads : int
    """

    def __init__(
        self,
        turns: str,
        judgements: str,
        corrections: str,
        options: VoteOptions,
        shared: Shared | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(threads)
        self._turns, self._judgements, self._corrections = turns, judgements, corrections
        self._options, self._shared = options, shared

    def work(self, bucket: int) -> list[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket."""
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, list(TURN_READS))
        judgements = storage.read_table(bucket_path(self._judgements, bucket), JUDGEMENT.schema)
        corrections = storage.read_table(
            bucket_path(self._corrections, bucket), CORRECTION.schema, list(CORRECTION_READS)
        )
        options = self._options if self._shared is None else replace(self._options, shared=self._shared.hashes)
        table, outcomes = votes(turns, judgements, corrections, options)
        tally.add(turns.num_rows)
        outcomes.pop("vote", None)
        return [beam.pvalue.TaggedOutput("counts", counts("curate", {"in": turns.num_rows} | outcomes)), table]


@beam.typehints.with_output_types(pa.Table)
class PoolVotes(WholeBuckets):
    """Buckets of whole utterances to files of Example rows; gives the counts of the votes that became none, and the
    examples as `pooled`: which of them are kept is told later. What contradicts a training set is listed in the folder
    `review`.
    """

    def __init__(
        self, folder: str, options: PoolOptions, threads: int = 1, known: KnownPass | None = None, review: str = ""
    ) -> None:
        super().__init__(threads)
        self._folder, self._options = folder, options
        self._known, self._review = known, review

    def work(self, bucket: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        number, table = bucket
        examples, outcomes = pool(table, self._options)
        write_bucket(self._folder, number, examples, EXAMPLE)
        outcomes.pop("kept", None)
        told = {"pooled": examples.num_rows}
        if self._known is not None:
            training = self._known.training
            write_bucket(self._review, number, diff(examples, training), TRAINING_SET_DIFF)
            told["in_training_set"] = int(compare(examples, training).known.sum())
        return [counts("curate", outcomes, told)]


class Curate(beam.PTransform):
    """Bucket numbers to Example files; gives COUNT tables."""

    def __init__(self, cast: CastVotes, pooled: PoolVotes, buckets: int, mode: str, spill: str) -> None:
        super().__init__()
        self._cast, self._pooled = cast, pooled
        self._buckets, self._mode, self._spill = buckets, mode, spill

    def expand(self, buckets: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        cast = buckets | "CastVotes" >> beam.ParDo(self._cast).with_outputs("counts", main="votes")
        by_utterance = Group(WordsHash(self._buckets), self._mode, self._spill)
        pooled = cast.votes | "ByUtterance" >> by_utterance | "PoolVotes" >> beam.ParDo(self._pooled)
        return (cast.counts, pooled) | beam.Flatten()
