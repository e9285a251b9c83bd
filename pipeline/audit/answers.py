"""Read answers back from whatever form they come in, and find the audit that they are of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from pipeline import storage
from pipeline.audit import argilla, label_studio, lines, sheet
from pipeline.audit.forms import Answer, Misread
from pipeline.errors import InputError

# Problems named in one message; more of a kind say no more.
SHOWN: Final = 5


def read_answers(paths: Iterable[str]) -> list[Answer]:
    """All answers of some files, whatever their form.

    Raises
    ------
    InputError
        If a file is of no form, or holds what is no answer; with file, line and field.
    """
    out: list[Answer] = []
    for path, uri in named(list(paths)).items():
        try:
            out += _read(_stored(path), uri)
        except Misread as error:
            raise InputError(f"--read {error}. Mend it and read all files again; nothing was taken over") from None
    return out


def _stored(path: str) -> bytes:
    wanted = "name the files that the raters filled or the tool exported"
    if not storage.exists(path):
        raise InputError(f"--read {path}: no such file; {wanted}")
    try:
        return storage.read_bytes(path)
    except OSError as error:
        raise InputError(f"--read {path}: {error.strerror or error}; {wanted}") from None


def named(paths: list[str]) -> dict[str, str]:
    """A short name of each file, by path: as much of its end as tells it from the others.

    A rater without a name is the file's, and raters often fill files of one name in folders of their own.
    """
    out: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        others = [other.split("/") for other in paths if other != path]
        length = next((k for k in range(1, len(parts)) if all(o[-k:] != parts[-k:] for o in others)), len(parts))
        out[path] = "/".join(parts[-length:])
    return out


def _read(data: bytes, uri: str) -> Iterator[Answer]:
    name = uri.lower()
    if name.endswith(".csv"):
        return sheet.read(data, uri)
    if name.endswith((".jsonl", ".ndjson")):
        return lines.read(data, uri)
    try:
        records = json.loads(data)
    except ValueError:
        raise Misread(f"{uri}:1: a .csv, .jsonl or .json file as written by a form is wanted") from None
    if isinstance(records, list) and all(isinstance(r, dict) for r in records):
        for form in (argilla, label_studio):
            if all(form.is_mine(record) for record in records):
                return form.read(records, uri)
    raise Misread(f"{uri}:1: neither an export of Label Studio (JSON, JSON-MIN) nor records of Argilla")


def audit_of(answers: list[Answer]) -> str:
    """The audit that all answers are of.

    Raises
    ------
    InputError
        If there is no answer, or they are of several audits.
    """
    audits: dict[str, Answer] = {}
    for answer in answers:
        audits.setdefault(answer.task_id.rpartition("-")[0], answer)
    if len(audits) == 1:
        return next(iter(audits))
    if not audits:
        raise InputError("--read: no question is answered yet; fill the answers (yes, no, cannot tell) and read again")
    some = "; ".join(f"{a.place} has {a.task_id}" for a in list(audits.values())[:SHOWN])
    raise InputError(f"--read: answers of {len(audits)} audits ({some}); read those of one audit at a time")
