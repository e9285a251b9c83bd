"""The present training set's files: JSON lines, CSV or Parquet, one text with its label a row.

Columns: `text` (or `utterance`, `utt`), `intent`, and where the set has them `domain` and `slots` (a list of
{name, value}, a table of name to value, either as JSON text too) or `annot_utt` (the text with its slots in brackets,
`wake me at [time : five]`, as in MASSIVE). The `nlu` view of a release is such a set.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from features.text import flat, normalise
from pipeline import storage
from pipeline.curation.known import KnownPass, TrainingSet
from pipeline.errors import ConfigError, InputError
from pipeline.given import Given, read_given, text_of
from pipeline.inputs import find
from pipeline.ontology.labels import Ontology
from pipeline.ontology.named import named
from schemas import INTERPRETATION, KNOWN

OPTION: Final = "curate.training_set"
SUFFIXES: Final = (".jsonl", ".ndjson", ".csv", ".parquet")
_TEXT: Final = ("text", "utterance", "utt")
_SLOTS: Final = ("slots", "annot_utt")
_READS: Final = (*_TEXT, "intent", "domain", *_SLOTS)
_ANNOTATED: Final = re.compile(r"\[\s*([^\[\]:]+?)\s*:\s*([^\[\]]*?)\s*\]")


def training_files(path: str) -> list[tuple[str, Given]]:
    """URI and content of each file of a training set.

    Raises
    ------
    ConfigError
        If there is nothing to read.
    """
    try:
        found = find(path, SUFFIXES, option=OPTION).files
    except InputError as error:
        raise ConfigError(str(error)) from None
    return [(uri, read_given(file, OPTION)) for file, uri, _ in found]


def read_training_set(path: str, ontology: Ontology | None = None) -> tuple[TrainingSet, list[Given]]:
    """The training set of a file, a folder or a glob.

    Parameters
    ----------
    path : str
    ontology : Ontology, optional
        Its labels are brought under it: a renamed intent is no contradiction.

    Raises
    ------
    ConfigError
        If there is nothing to read, or a row cannot be right, with file and row.
    """
    found = training_files(path)
    files = [given for _, given in found]
    held = [(uri, given, _rows(given)) for uri, given in found]
    columns = [set(names) for _, _, (names, _) in held]
    rows = [row for uri, given, (names, raw) in held for row in _known(raw, names, uri, given.where)]
    table = pa.Table.from_pylist(rows, schema=KNOWN.schema)
    table = table.set_column(1, KNOWN.schema.field("words"), normalise(table["words"]))
    if ontology is not None and table.num_rows:
        table = table.set_column(2, "label", named(flat(table["label"]), ontology).entries)
    training = TrainingSet(
        KNOWN.conform(table), all("domain" in names for names in columns), all(names & {*_SLOTS} for names in columns)
    )
    return training, files


def keep_training_set(path: str, training: TrainingSet, keep_known: bool) -> KnownPass:
    """Write a training set where workers read it; gives the pass that holds examples against it."""
    data = storage.encode(training.rows)
    storage.write_bytes(path, data)
    return KnownPass(path, storage.sha256(data), training.with_domain, training.with_slots, keep_known)


def _rows(given: Given) -> tuple[list[str], Iterator[tuple[int, Any]]]:
    """Columns of a file, and its rows with their numbers, from 1."""
    if given.suffix == ".parquet":
        try:
            table = pq.read_table(pa.BufferReader(given.data))
        except pa.ArrowException as error:
            raise ConfigError(f"{given.where}: not a Parquet file ({type(error).__name__})") from None
        table = table.select([name for name in table.column_names if name in _READS])
        return table.column_names, iter(enumerate(table.to_pylist(), start=1))
    if given.suffix == ".csv":
        sheet = csv.DictReader(io.StringIO(text_of(given), newline=""))
        return list(sheet.fieldnames or []), iter(enumerate(_sheet(sheet, given.where), start=1))
    lines = list(_lines(text_of(given), given.where))
    names = {name for _, row in lines if isinstance(row, dict) for name in row}
    return sorted(names), iter(lines)


def _sheet(sheet: csv.DictReader[str], where: str) -> Iterator[dict[str, Any]]:
    try:
        yield from sheet
    except csv.Error as error:
        raise ConfigError(f"{where}: line {sheet.line_num} is not CSV ({error}); is a quote left open?") from None


def _lines(text: str, where: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError:
                raise ConfigError(f"{where}: line {number} is not JSON; one row a line is wanted") from None


def _known(rows: Iterator[tuple[int, Any]], names: list[str], uri: str, where: str) -> Iterator[dict[str, Any]]:
    """KNOWN rows, their words as they stand in the file."""
    text = next((name for name in _TEXT if name in names), None)
    for number, row in rows:
        at = f"{where}: row {number}"
        if not isinstance(row, dict) or text is None or "intent" not in names:
            raise ConfigError(f"{at}: text and intent are wanted, found {', '.join(names)[:200] or 'neither'}")
        words, intent = row.get(text), row.get("intent")
        if not isinstance(words, str) or not words.strip() or not isinstance(intent, str) or not intent.strip():
            raise ConfigError(f"{at}: {text} and intent are wanted as text, neither of them empty")
        label = dict.fromkeys((f.name for f in INTERPRETATION), None) | {
            "domain": _text(row.get("domain"), f"{at} domain"),
            "intent": intent,
            "slots": _slots(row, at),
        }
        yield {"place": f"{uri}:{number}", "words": words, "label": label}


def _text(value: Any, where: str) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ConfigError(f"{where}: a text is wanted, found {value!r:.80}")
    return value


def _slots(row: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Slots of a row, in any of the forms."""
    held = row.get("slots")
    if held is None and isinstance(row.get("annot_utt"), str):
        return [_slot(name, value) for name, value in _ANNOTATED.findall(row["annot_utt"])]
    if isinstance(held, str):
        try:
            held = json.loads(held) if held.strip() else []
        except ValueError:
            raise ConfigError(
                f"{where} slots: a list of {{name, value}} as JSON is wanted, found {held!r:.80}"
            ) from None
    if isinstance(held, dict):
        held = [{"name": k, "value": v} for k, vs in held.items() for v in (vs if isinstance(vs, list) else [vs])]
    if not isinstance(held or [], list) or not all(isinstance(s, dict) and "name" in s for s in held or []):
        raise ConfigError(f"{where} slots: a list of {{name, value}} is wanted, found {held!r:.80}")
    return [_slot(slot["name"], slot.get("value")) for slot in held or []]


def _slot(name: Any, value: Any) -> dict[str, Any]:
    texts = (None if text is None else str(text) for text in (name, value))
    return dict(zip(("name", "value", "start", "end"), (*texts, None, None), strict=True))
