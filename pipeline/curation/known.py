"""New examples against the present training set: what it has already, and what it has another label for.

Words are compared as examples are pooled by them, whatever the locale; labels by domain, intent and slots (order and
letter case of values aside), or by as much of a label as the training set holds. Where it has the same words with
several labels, an example is known by any of them. Only meanings are compared: what an agent answered or called is no
label of an NLU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash_texts, mix
from features.interpretation import candidate_ids, unscored
from features.text import flat, is_true, normalise
from pipeline import storage
from pipeline.curation.rows import left_out
from pipeline.writers.slots import interpretations
from schemas import KNOWN, LABEL_KINDS, TOOL_DOMAIN, TRAINING_SET_DIFF, LeftOutReason
from schemas.turn import INTERPRETATION, SLOT

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
# Labels of the same words that a line of the diff shows.
_LABEL: Final = ("domain", "intent", "slots")
_SHOWN: Final = 3


@dataclass(frozen=True)
class TrainingSet:
    """What the NLU is trained on now.

    Attributes
    ----------
    rows : pyarrow.Table
        KNOWN rows.
    with_domain, with_slots : bool
        Whether the set has them; else they are not compared.
    """

    rows: pa.Table
    with_domain: bool
    with_slots: bool

    @cached_property
    def _order(self) -> tuple[I64, I64]:
        """Hashes of the words in order, and the row of each."""
        words = hash_texts(flat(self.rows["words"])).view(np.int64)
        order = np.argsort(words, kind="stable")
        return words[order], order

    @cached_property
    def _pairs(self) -> I64:
        """Hashes of words and label."""
        words = hash_texts(flat(self.rows["words"])).view(np.int64)
        return np.unique(mix(words, self._labels(flat(self.rows["label"]))))

    def _labels(self, labels: pa.StructArray) -> I64:
        """Hash of as much of each label as is compared."""
        n = len(labels)
        domain = labels.field("domain") if self.with_domain else pa.nulls(n, pa.string())
        slots = labels.field("slots") if self.with_slots else pa.nulls(n, pa.list_(SLOT))
        return candidate_ids(unscored(domain, labels.field("intent"), slots))

    def has(self, words: I64, labels: pa.StructArray) -> Mask:
        """Whether the set has each of these words with this label."""
        return np.isin(mix(words, self._labels(labels)), self._pairs)

    def first(self, words: I64) -> I64:
        """The first row of each of these words; -1 = none."""
        held, order = self._order
        at = np.searchsorted(held, words)
        found = np.append(held, 0)[at] == words if len(held) else np.zeros(len(words), bool)
        found &= at < len(held)
        return np.where(found, np.append(order, -1)[np.minimum(at, len(held))], -1)

    def of(self, words: int) -> list[dict[str, Any]]:
        """The distinct labels of some words, in the order of the set."""
        held, order = self._order
        at = slice(np.searchsorted(held, words, "left"), np.searchsorted(held, words, "right"))
        labels = flat(self.rows["label"]).take(pa.array(order[at]))
        first = np.unique(self._labels(labels), return_index=True)[1]
        found: list[dict[str, Any]] = labels.take(pa.array(np.sort(first))).to_pylist()
        return found


@dataclass(frozen=True)
class Compared:
    """What a training set says of n examples.

    Attributes
    ----------
    known, contradicts : numpy.ndarray of bool, shape (n,)
    row : numpy.ndarray of int64, shape (n,)
        First row of the set with the example's words; -1 = it has none.
    words : numpy.ndarray of int64, shape (n,)
        Hash of the words.
    """

    known: Mask
    contradicts: Mask
    row: I64
    words: I64


def compare(examples: pa.Table, training: TrainingSet) -> Compared:
    """Hold examples against a training set.

    A rejection contradicts it where the set teaches what its users rejected; it is never known.

    Parameters
    ----------
    examples : pyarrow.Table
        n EXAMPLE rows.
    training : TrainingSet
    """
    words = hash_texts(normalise(examples["utterance"])).view(np.int64)
    row = training.first(words)
    kind = flat(examples["kind"])
    is_label = is_true(pc.is_in(kind, value_set=pa.array(LABEL_KINDS)))
    is_label &= ~is_true(pc.equal(flat(examples["domain"]), TOOL_DOMAIN))
    rejected = flat(examples["rejected"])
    is_rejection = is_true(pc.equal(kind, "rejection")) & is_true(rejected.field("intent").is_valid())
    is_rejection &= ~is_true(pc.equal(rejected.field("domain"), TOOL_DOMAIN))
    asked = (row >= 0) & (is_label | is_rejection)
    if not asked.any():
        none = np.zeros(len(words), bool)
        return Compared(none, none, row, words)
    has = training.has(words, _labels(examples))
    refused = training.has(words, _rejected(rejected))
    contradicts = np.where(is_label, ~has, refused) & asked
    return Compared(asked & is_label & has, contradicts, row, words)


def _labels(examples: pa.Table) -> pa.StructArray:
    return unscored(*(flat(examples[name]) for name in _LABEL))


def _rejected(rejected: pa.StructArray) -> pa.StructArray:
    return unscored(*(pc.struct_field(rejected, name) for name in _LABEL))


def contradictions(examples: pa.Table, training: TrainingSet, keep_known: bool = True) -> pa.Table:
    """LEFT_OUT rows of the examples that a training set has another label for, and of those it has, if they go too.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.
    training : TrainingSet
    keep_known : bool
    """
    found = compare(examples, training)
    rows = np.flatnonzero(found.contradicts | (found.known & (not keep_known)))
    known = found.known[rows]
    reason = np.where(known, str(LeftOutReason.KNOWN), str(LeftOutReason.CONTRADICTS_TRAINING_SET))
    detail = np.where(
        known,
        "the training set has it already (curate.keep_known)",
        "the training set says otherwise, see training_set_diff.csv (curate.training_set)",
    )
    places = flat(training.rows["place"]).take(pa.array(found.row[rows])).to_pylist()
    return left_out(examples, rows, reason.tolist(), detail.tolist(), places)


def diff(examples: pa.Table, training: TrainingSet) -> pa.Table:
    """TRAINING_SET_DIFF rows of the examples that contradict a training set, sorted by text and example_id.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.
    training : TrainingSet
    """
    found = compare(examples, training)
    rows = np.flatnonzero(found.contradicts)
    held = examples.take(pa.array(rows))
    is_rejection = [kind == "rejection" for kind in held["kind"].to_pylist()]
    labels, refused = _labels(held).to_pylist(), _rejected(flat(held["rejected"])).to_pylist()
    proposed = [f"not {_shown(r)}" if no else _shown(p) for p, r, no in zip(labels, refused, is_rejection, strict=True)]
    columns = {
        "text": held["utterance"],
        "label_now": pa.array([_all(training.of(int(w))) for w in found.words[rows]], pa.string()),
        "label_proposed": pa.array(proposed, pa.string()),
        "place": flat(training.rows["place"]).take(pa.array(found.row[rows])),
    }
    table = pa.table({n: columns[n] if n in columns else held[n] for n in TRAINING_SET_DIFF.names})
    return TRAINING_SET_DIFF.conform(table).sort_by([("text", "ascending"), ("example_id", "ascending")])


def _all(labels: list[dict[str, Any]]) -> str:
    more = f" | and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    return " | ".join(_shown(label) for label in labels[:_SHOWN]) + more


def _shown(label: dict[str, Any]) -> str:
    """A label as text; few are shown, so one at a time."""
    whole = pa.array([label], INTERPRETATION)
    text = interpretations(*(pc.struct_field(whole, name) for name in ("domain", "intent", "slots")))
    return str(text[0])


@dataclass(frozen=True)
class KnownPass:
    """A pass of stage curate: what it leaves out for the training set's sake. Is sent to workers, with the set's path.

    Attributes
    ----------
    path, sha256 : str
        KNOWN rows as Parquet, and the hash of the file.
    with_domain, with_slots, keep_known : bool
    """

    path: str
    sha256: str
    with_domain: bool
    with_slots: bool
    keep_known: bool

    def __call__(self, examples: pa.Table) -> pa.Table:
        """LEFT_OUT rows of EXAMPLE rows."""
        return contradictions(examples, self.training, self.keep_known)

    def facts(self) -> dict[str, Any]:
        """All but the path, which the stage that wrote the set knows."""
        return {name: held for name, held in vars(self).items() if name != "path"}

    @property
    def training(self) -> TrainingSet:
        """The set, read once a worker."""
        return _held(self.path, self.sha256, self.with_domain, self.with_slots)


@lru_cache(maxsize=1)
def _held(path: str, sha256: str, with_domain: bool, with_slots: bool) -> TrainingSet:
    return TrainingSet(storage.read_table(path, KNOWN.schema).combine_chunks(), with_domain, with_slots)
