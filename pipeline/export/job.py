"""A split of a release, or all of them, to a folder in another form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from pipeline import storage
from pipeline.errors import ConfigError, InputError
from pipeline.explain.release import Release, open_release
from pipeline.export import clu, dialogflow_cx, hf, jointbert, lex_v2, massive, rasa, tasks
from pipeline.export.names import Names
from pipeline.export.utterances import COLUMNS, Splits, Utterance, count_with_domain, labels_of, utterances
from schemas import NLU, RL, SPLITS, Record

Files = dict[str, bytes]

ALL: Final = "all"
# Forms that tell the splits apart, and those that know no split.
_OF_SPLITS: Final[dict[str, Callable[[Splits, Names, Counter[str]], Files]]] = {
    "clu": clu.write,
    "jointbert": jointbert.write,
    "massive": massive.write,
    "hf": hf.write,
}
_OF_ROWS: Final[dict[str, Callable[[Sequence[Utterance], Names, Counter[str]], Files]]] = {
    "rasa": rasa.write,
    "lex-v2": lex_v2.write,
    "dialogflow-cx": dialogflow_cx.write,
}


def export(out: str, release: str | None, form: str, to: str, split: str) -> dict[str, Any]:
    """Write a split, or all of them, in another form. A name is the same in each split.

    Parameters
    ----------
    out : str
        Output folder of a run.
    release : str or None
        A release id, or its beginning; the current release by default.
    form : str
        One of `pipeline.arguments.EXPORTS`.
    to : str
        Folder; it is new or empty.
    split : str
        One of `schemas.SPLITS`, or `ALL`.

    Returns
    -------
    dict
        `release`, `format`, `split`, `rows`, `files`, and `told`: counts by what became of rows and slots.

    Raises
    ------
    ConfigError
        If the folder holds something, the form cannot tell the splits apart, or there is no such release.
    InputError
        If the release has no rows of the split for this format.
    """
    if storage.files(to, "**"):
        raise ConfigError(f"--to {to}: it holds files; what an earlier export left would mix with this one's")
    if split == ALL and form in _OF_ROWS:
        raise ConfigError(
            f"--split {ALL}: {form} has no place to say which split a row is of; export train and test to two folders. "
            f"Both in one hold: {', '.join(sorted([*_OF_SPLITS, 'verifiers']))}"
        )
    held = open_release(out, release)
    told: Counter[str] = Counter()
    record, columns = (RL, RL.names) if form == "verifiers" else (NLU, COLUMNS)
    # Tasks have no names that the other split has a part in.
    read = [s for s in SPLITS if split in (s, ALL) or record is NLU]
    tables = {s: table for s in read if (table := _table(held, record, columns, s)) is not None}
    wanted = [s for s in tables if split in (s, ALL)]
    if not wanted:
        which = "any split" if split == ALL else f"split {split}"
        raise InputError(f"release {held.id[:12]}: it has no `{record.name}` rows in {which}")
    if form == "verifiers":
        files = tasks.write({s: tables[s] for s in wanted}, told)
    else:
        files = _of_nlu(form, tables, wanted, told)
    for name, data in files.items():
        storage.write_bytes(storage.join(to, *name.split("/")), data)
    return {
        "release": held.id,
        "format": form,
        "split": split,
        "rows": sum(tables[s].num_rows for s in wanted),
        "files": sorted(files),
        "told": {key: n for key, n in sorted(told.items()) if n},
    }


def _of_nlu(form: str, tables: Mapping[str, pa.Table], wanted: Sequence[str], told: Counter[str]) -> Files:
    """The files of some splits, in the names of all."""
    labels = labels_of(tables.values())
    count_with_domain((tables[s] for s in wanted), labels, told)
    rows = {s: utterances(table, labels, told if s in wanted else Counter()) for s, table in tables.items()}
    names = Names.of(chain.from_iterable(rows.values()))
    splits = {s: rows[s] for s in wanted}
    if form in _OF_SPLITS:
        return _OF_SPLITS[form](splits, names, told)
    return _OF_ROWS[form](splits[wanted[0]], names, told)


def _table(release: Release, record: Record, columns: tuple[str, ...], split: str) -> pa.Table | None:
    """Rows of a split; None if there are none."""
    paths = [p for p in release.manifest["files"] if p.startswith(f"{record.name}/data/{split}-")]
    if not paths:
        return None
    folder = release.folder
    return pa.concat_tables(storage.read_table(storage.join(folder, p), record.schema, list(columns)) for p in paths)
