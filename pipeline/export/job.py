"""A split of a release to a folder, in another form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from pipeline import storage
from pipeline.errors import ConfigError, InputError
from pipeline.explain.release import Release, open_release
from pipeline.export import clu, dialogflow_cx, hf, jointbert, lex_v2, massive, rasa, tasks
from pipeline.export.utterances import COLUMNS, utterances
from schemas import NLU, RL

Files = dict[str, bytes]

_DATASETS: Final = {"train": "Train", "test": "Test"}
_WRITERS: Final[dict[str, Callable[..., Files]]] = {
    "rasa": lambda rows, told, split: rasa.write(rows, told),
    "clu": lambda rows, told, split: clu.write(rows, told, _DATASETS[split]),
    "lex-v2": lambda rows, told, split: lex_v2.write(rows, told),
    "dialogflow-cx": lambda rows, told, split: dialogflow_cx.write(rows, told),
    "jointbert": jointbert.write,
    "massive": massive.write,
    "hf": hf.write,
}


def export(out: str, release: str | None, form: str, to: str, split: str) -> dict[str, Any]:
    """Write a split in another form.

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

    Returns
    -------
    dict
        `release`, `format`, `split`, `rows`, `files`, and `told`: counts by what became of rows and slots.

    Raises
    ------
    ConfigError
        If the folder holds something, or there is no such release.
    InputError
        If the release has no rows of the split for this format.
    """
    if storage.files(to, "**"):
        raise ConfigError(f"--to {to}: it holds files; what an earlier export left would mix with this one's")
    held = open_release(out, release)
    told: Counter[str] = Counter()
    if form == "verifiers":
        table = _table(held, RL, RL.names, split)
        files = tasks.write(table, told, split)
    else:
        table = _table(held, NLU, COLUMNS, split)
        files = _WRITERS[form](utterances(table, told), told, split)
    for name, data in files.items():
        storage.write_bytes(storage.join(to, *name.split("/")), data)
    return {
        "release": held.id,
        "format": form,
        "split": split,
        "rows": table.num_rows,
        "files": sorted(files),
        "told": {key: n for key, n in sorted(told.items()) if n},
    }


def _table(release: Release, record: Any, columns: tuple[str, ...], split: str) -> pa.Table:
    paths = [p for p in release.manifest["files"] if p.startswith(f"{record.name}/data/{split}-")]
    if not paths:
        raise InputError(f"release {release.id[:12]}: it has no `{record.name}` rows in split {split}")
    folder = release.folder
    return pa.concat_tables(storage.read_table(storage.join(folder, p), record.schema, list(columns)) for p in paths)
