"""Answers to Gold and to figures, beside the audit that they are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pipeline import storage
from pipeline.audit.answers import audit_of, read_answers
from pipeline.audit.drawing import DESIGN, FORMAT, SAMPLE, audit_folder
from pipeline.audit.figures import figures
from pipeline.audit.said import collect, gold_rows
from pipeline.errors import InputError
from schemas import AUDIT_SAMPLE, GOLD

FIGURES: Final = "figures.json"


def gold_folder(out: str) -> str:
    """Where the answers of all audits of an output folder lie; stage train reads them."""
    return storage.join(out, "gold")


def read_audit(out: str, paths: Sequence[str]) -> dict[str, Any]:
    """Read answers, write `<out>/gold/audit-<id>.parquet` and `figures.json`, and give the figures.

    Answers of one audit are read together: a second reading takes the place of the first.

    Raises
    ------
    InputError
        If the answers are not those of an audit drawn here, or cannot be taken; nothing is written then.
    """
    answers = read_answers(paths)
    audit_id = audit_of(answers)
    design = _design(out, audit_id)
    sample = storage.read_table(storage.join(audit_folder(out, audit_id), SAMPLE), AUDIT_SAMPLE.schema)
    said = collect(answers, sample)
    gold = gold_rows(said, sample, audit_id)
    found = figures(design, sample, said) | {"gold_rows": gold.num_rows}
    path = storage.join(gold_folder(out), f"audit-{audit_id}.parquet")
    storage.write_table(path, GOLD.conform(gold))
    target = storage.join(audit_folder(out, audit_id), FIGURES)
    storage.write_bytes(target, storage.readable_json(found))
    return found | {"out": out, "gold": path, "figures": target}


def _design(out: str, audit_id: str) -> dict[str, Any]:
    path = storage.join(audit_folder(out, audit_id), DESIGN)
    if not audit_id or not storage.exists(path):
        raise InputError(
            f"--read: the answers are of audit {audit_id or '(none)'}, which was not drawn in {out}; "
            f"{path} is wanted. Give the --out that it was drawn from"
        )
    design: dict[str, Any] = json.loads(storage.read_bytes(path))
    if design.get("format") != FORMAT:
        raise InputError(f"{path}: format {FORMAT} is wanted, found {design.get('format')!r}; draw the audit again")
    return design
