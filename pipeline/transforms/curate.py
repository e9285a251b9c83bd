"""Judged turns to the Example table."""

from __future__ import annotations

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import storage, tally
from pipeline.curation.known import KnownPass, compare, diff
from pipeline.transforms.counts import counts, domain_names, rows_by_domain
from pipeline.transforms.pool import KEY_SEPARATOR, PoolOptions, pool
from pipeline.transforms.shards import examples_by_kind
from pipeline.transforms.shuffle import KeyHash, Shuffle
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.votes import CORRECTION_READS, TURN_READS, VoteOptions, votes
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import CORRECTION, EXAMPLE, JUDGEMENT, LEFT_OUT, TRAINING_SET_DIFF, TURN


class WordsHash(KeyHash):
    """Partition votes by their words, whatever the locale: what train has is looked for in all of test."""

    def __init__(self, buckets: int) -> None:
        super().__init__("pool_key", buckets)

    def __call__(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Bucket of each row, shape (n,)."""
        words = pc.replace_substring_regex(table["pool_key"], f"^[^{KEY_SEPARATOR}]*{KEY_SEPARATOR}", "")
        return super().__call__(pa.table({"pool_key": words}))


@beam.typehints.with_output_types(pa.Table)
class CastVotes(SideBySide):
    """Bucket numbers to VOTE tables; counts go to the tag `counts`."""

    def __init__(self, turns: str, judgements: str, corrections: str, options: VoteOptions, threads: int = 1) -> None:
        super().__init__(threads)
        self._turns, self._judgements, self._corrections = turns, judgements, corrections
        self._options = options

    def work(self, bucket: int) -> list[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket."""
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, list(TURN_READS))
        judgements = storage.read_table(bucket_path(self._judgements, bucket), JUDGEMENT.schema)
        corrections = storage.read_table(
            bucket_path(self._corrections, bucket), CORRECTION.schema, list(CORRECTION_READS)
        )
        table, outcomes = votes(turns, judgements, corrections, self._options)
        tally.add(turns.num_rows)
        outcomes.pop("vote", None)
        return [beam.pvalue.TaggedOutput("counts", counts("curate", {"in": turns.num_rows} | outcomes)), table]


@beam.typehints.with_output_types(pa.Table)
class PoolVotes(SideBySide):
    """Buckets of whole utterances to files of Example rows; gives their counts.

    With a training set, what contradicts it is left out, and listed in the folders `left_out` and `diff`.
    """

    def __init__(
        self,
        folder: str,
        options: PoolOptions,
        threads: int = 1,
        known: KnownPass | None = None,
        left_out: str = "",
        diff: str = "",
    ) -> None:
        super().__init__(threads)
        self._folder, self._options = folder, options
        self._known, self._left_out, self._diff = known, left_out, diff

    def work(self, bucket: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        number, table = bucket
        examples, outcomes = pool(table, self._options)
        told: dict[str, int] = {}
        if self._known is not None:
            told = self._review(number, examples)
            gone = self._known(examples)
            write_bucket(self._left_out, number, gone, LEFT_OUT)
            examples = examples.filter(pc.invert(pc.is_in(examples["example_id"], value_set=flat(gone["example_id"]))))
            outcomes |= {row["values"]: row["counts"] for row in gone["reason"].value_counts().to_pylist()}
            outcomes["kept"] = examples.num_rows
        write_bucket(self._folder, number, examples, EXAMPLE)
        by_label = rows_by_domain("examples", domain_names(examples["domain"]))
        return [counts("curate", outcomes, examples_by_kind(examples) | told, by_label)]

    def _review(self, bucket: int, examples: pa.Table) -> dict[str, int]:
        """List what contradicts the training set for people; counts what that has already."""
        if self._known is None:
            return {}
        training = self._known.training
        write_bucket(self._diff, bucket, diff(examples, training), TRAINING_SET_DIFF)
        return {"in_training_set": int(compare(examples, training).known.sum())}


class Curate(beam.PTransform):
    """Bucket numbers to Example files; gives COUNT tables."""

    def __init__(self, cast: CastVotes, pooled: PoolVotes, buckets: int, mode: str, spill: str) -> None:
        super().__init__()
        self._cast, self._pooled = cast, pooled
        self._buckets, self._mode, self._spill = buckets, mode, spill

    def expand(self, buckets: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        cast = buckets | "CastVotes" >> beam.ParDo(self._cast).with_outputs("counts", main="votes")
        by_utterance = Shuffle(WordsHash(self._buckets), self._mode, self._spill)
        pooled = cast.votes | "ByUtterance" >> by_utterance | "PoolVotes" >> beam.ParDo(self._pooled)
        return (cast.counts, pooled) | beam.Flatten()
