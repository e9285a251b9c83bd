"""Leave out the examples of quarantined domains, and carry over those that the parent release has of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import list_offsets, unscored
from features.text import flat, is_true, normalise
from pipeline import storage
from pipeline.ontology.labels import Fate, Ontology
from pipeline.ontology.named import named
from pipeline.transforms.counts import counts, rows_by_domain
from pipeline.transforms.shards import examples_by_kind
from pipeline.transforms.shuffle import KeyHash, Shuffle
from pipeline.transforms.withheld import withheld_for
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import EXAMPLE, LABEL_KINDS

Mask = npt.NDArray[np.bool_]

# Columns beside those of an example, between the transforms of this module.
_WORDS, _CARRIED = "words", "carried"


@dataclass(frozen=True)
class CarryOptions:
    """What an example of the parent release needs to be carried over.

    Attributes
    ----------
    domains : tuple of str
        Quarantined domains.
    min_users : int
    min_agreement : float
        The minimum that this run's own examples meet.
    same_split : bool
        The parent split its users as this run does; otherwise a user could come to stand on both sides.
    opted_out : tuple of str
        Pseudonyms of users who do not want to be in it.
    licences : tuple of str or None
        Licences that may be learned from; None = any.
    ontology : Ontology or None
        That of this run: its label is allowed, under the name that it has.
    left_out : callable or None
        EXAMPLE rows to the LEFT_OUT rows of those that this run would leave out for the training set's and evaluation
        sets' sake. Is sent to workers.
    """

    domains: tuple[str, ...]
    min_users: int
    min_agreement: float
    same_split: bool
    opted_out: tuple[str, ...] = ()
    licences: tuple[str, ...] | None = None
    ontology: Ontology | None = None
    left_out: Callable[[pa.Table], pa.Table] | None = None


def _marked(examples: pa.Table, carried: bool) -> pa.Table:
    """With the words that examples are pooled by, and where they come from."""
    words = normalise(examples["utterance"])
    return examples.append_column(_WORDS, words).append_column(_CARRIED, pa.array(np.full(len(words), carried)))


@beam.typehints.with_output_types(pa.Table, counts=pa.Table)
class KeepExamples(beam.DoFn):
    """Bucket numbers to new examples that no quarantined domain has part in; counts go to the tag `counts`."""

    def __init__(self, folder: str, domains: tuple[str, ...]) -> None:
        self._folder, self._domains = folder, domains

    def process(self, bucket: int) -> Iterator[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket."""
        examples = storage.read_table(bucket_path(self._folder, bucket), EXAMPLE.schema)
        domain = withheld_for(examples, self._domains)
        out = domain.drop_null()
        closing = {"in": examples.num_rows, "quarantined": len(out)}
        domains = rows_by_domain("quarantined", out)
        yield beam.pvalue.TaggedOutput("counts", counts("release", closing, domains=domains))
        yield _marked(examples.filter(pc.is_null(domain)), carried=False)


@beam.typehints.with_output_types(pa.Table, counts=pa.Table)
class ReadCarried(beam.DoFn):
    """Lineage files of the parent to its examples that one has part in; counts go to the tag `counts`."""

    def __init__(self, options: CarryOptions) -> None:
        self._options = options

    def process(self, path: str) -> Iterator[pa.Table | beam.pvalue.TaggedOutput]:
        """One file."""
        table = storage.read_table(path, EXAMPLE.schema)
        domains = self._options.domains
        found = table.filter(pc.is_valid(withheld_for(table, domains)))
        reason = self._dropped(found)
        yield beam.pvalue.TaggedOutput("counts", dropped(found, reason, domains))
        yield _marked(found.filter(pa.array(reason == "")), carried=True)

    def _dropped(self, examples: pa.Table) -> npt.NDArray[np.object_]:
        """Why an example is not carried over; empty where it is."""
        options = self._options
        low = (examples["support"].to_numpy() < options.min_users) | (
            examples["agreement"].to_numpy() < options.min_agreement
        )
        # Answers, their contexts and what is rejected were judged by other models, under another threshold than this
        # release states.
        answer = ~np.isin(strings(examples["kind"]), LABEL_KINDS)
        other = np.full(examples.num_rows, not options.same_split)
        provenance = flat(examples["provenance"])
        left = _any_in(provenance.field("subjects"), pa.array(options.opted_out, pa.string()))
        licences = provenance.field("licences")
        allowed = pa.array(options.licences or (), pa.string())
        unlicensed = np.zeros(examples.num_rows, bool)
        if options.licences is not None:
            stated = pc.list_value_length(licences).fill_null(0).to_numpy() > 0
            unlicensed = ~stated | _any_in(licences, allowed, absent=True)
        reasons = ["opted_out", "licence", "other_split", "answer", "below_minimum"]
        reason = np.select([left, unlicensed, other, answer, low], reasons, "").astype(object)
        return self._of_this_run(examples, reason)

    def _of_this_run(self, examples: pa.Table, reason: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
        """Reasons, with those of what this run was given: its ontology, its training set, its evaluation sets."""
        if self._options.ontology is not None:
            reason[(reason == "") & _other_label(examples, self._options.ontology)] = "ontology"
        if self._options.left_out is None:
            return reason
        left = self._options.left_out(examples.filter(pa.array(reason == "")))
        at = pc.index_in(left["example_id"], value_set=flat(examples["example_id"]))
        reason[at.to_numpy().astype(np.int64)] = strings(left["reason"])
        return reason


def _other_label(examples: pa.Table, ontology: Ontology) -> Mask:
    """Examples whose label is none of the ontology's, or has another name in it, shape (n,)."""
    found = named(unscored(*(flat(examples[name]) for name in ("domain", "intent", "slots"))), ontology)
    return (found.fate > Fate.FREE) | found.changed


def _any_in(lists: pa.ListArray, values: pa.Array, absent: bool = False) -> Mask:
    """Lists of which an entry is among the values, or (`absent`) is not, shape (n,)."""
    hit = is_true(pc.is_in(lists.flatten(), value_set=values)) != absent
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    out = np.zeros(len(lists), bool)
    out[owner[hit]] = True
    return out


def dropped(examples: pa.Table, reason: npt.NDArray[np.object_], domains: tuple[str, ...]) -> pa.Table:
    """COUNT rows of examples that are not carried over."""
    gone = examples.filter(pa.array(reason != ""))
    names, numbers = np.unique(reason[reason != ""].astype(str), return_counts=True)
    detail = {f"carried_dropped.{n}": int(k) for n, k in zip(names, numbers, strict=True)}
    of = rows_by_domain("carried_dropped", withheld_for(gone, domains))
    return counts("release", {}, {"carried_dropped": gone.num_rows, **detail}, of)


@beam.typehints.with_output_types(pa.Table)
class Settle(beam.DoFn):
    """Buckets of whole utterances to files of Example rows, new ones and carried ones apart; gives their counts, those
    of the carried ones but for the files.

    A carried example gives way to a new one of the same words in either split, so that an utterance still has one
    label a split, and none that train has stands in test.
    """

    def __init__(self, folder: str, carried: str, domains: tuple[str, ...]) -> None:
        self._folder, self._carried, self._domains = folder, carried, domains

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        number, table = bucket
        carried = is_true(table[_CARRIED])
        words = flat(table[_WORDS]).filter(pa.array(~carried))
        said = pc.is_in(table[_WORDS], value_set=words).to_numpy().astype(bool)
        reason = np.where(carried & said, "same_words", "").astype(object)
        yield dropped(table, reason, self._domains)
        new, old = (table.filter(pa.array(rows)).select(EXAMPLE.names) for rows in (~carried, carried & ~said))
        write_bucket(self._folder, number, new.sort_by("example_id"), EXAMPLE)
        if old.num_rows:
            write_bucket(self._carried, number, old.sort_by("example_id"), EXAMPLE)
        yield counts("release", {"kept": new.num_rows}, {"carried": 0, **examples_by_kind(new)})


class Quarantine(beam.PTransform):
    """Bucket numbers and lineage files of the parent to Example files of two folders; gives COUNT tables.

    Parameters
    ----------
    examples : str
        Folder of the new examples.
    folder, carried : str
        Those to write, for new and carried ones.
    options : CarryOptions
    buckets : int
    mode, spill : str
        Of the shuffle.
    """

    def __init__(
        self, examples: str, folder: str, carried: str, options: CarryOptions, buckets: int, mode: str, spill: str
    ) -> None:
        super().__init__()
        self._keep, self._carry = KeepExamples(examples, options.domains), ReadCarried(options)
        self._settle = Settle(folder, carried, options.domains)
        self._buckets, self._mode, self._spill = buckets, mode, spill

    def expand(self, inputs: tuple[beam.PCollection, beam.PCollection]) -> beam.PCollection:
        """Build the graph."""
        numbers, files = inputs
        kept = numbers | beam.ParDo(self._keep).with_outputs("counts", main="examples")
        carried = files | beam.ParDo(self._carry).with_outputs("counts", main="examples")
        shuffle = Shuffle(KeyHash(_WORDS, self._buckets), self._mode, self._spill)
        together = (kept.examples, carried.examples) | "Together" >> beam.Flatten() | shuffle
        settled = together | beam.ParDo(self._settle)
        return (kept.counts, carried.counts, settled) | "Counts" >> beam.Flatten()
