"""Draw the sample of an audit and write it, its design, and the forms."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.sampling import DECISIONS, OTHER, AuditOptions, cells_that_fit, lowest, shared_out
from pipeline import storage
from pipeline.audit import argilla, label_studio, lines, sheet
from pipeline.audit.forms import Write
from pipeline.audit.population import Population, population
from pipeline.audit.tasks import Task, tasks
from pipeline.errors import ConfigError, InputError, StageError
from pipeline.explain.release import Release, open_release
from pipeline.explain.tables import StageTables
from pipeline.workspace import Workspace
from schemas import AUDIT_SAMPLE

I64 = npt.NDArray[np.int64]
FORMAT: Final = "afterword-audit/1"
DESIGN: Final = "audit.json"
SAMPLE: Final = "sample.parquet"
# Of the SHA-256 that names an audit: 48 bits, short enough for a task's name.
_ID_DIGITS: Final = 12
FORMS: Final[dict[str, Write]] = {
    "jsonl": lines.write,
    "csv": sheet.write,
    "label-studio": label_studio.write,
    "argilla": argilla.write,
}


@dataclass(frozen=True)
class Drawn:
    """Turns drawn, in the order in which they are judged: by hash, so that nobody sees what was decided of them."""

    audit_id: str
    group: list[str]
    sizes: I64
    wanted: I64
    cell: I64
    bucket: I64
    row: I64


def audit_folder(out: str, audit_id: str) -> str:
    """Where an audit's design lies."""
    return storage.join(out, "audits", audit_id)


def draw_audit(out: str, options: AuditOptions, to: str | None, forms: tuple[str, ...]) -> dict[str, Any]:
    """Draw, and write `audit.json`, `sample.parquet` and the forms.

    Parameters
    ----------
    out : str
        Output folder of a run; its CURRENT release is what is audited.
    options : AuditOptions
    to : str or None
        Folder for the forms; the audit's own by default.
    forms : tuple of str
        Of `FORMS`.

    Returns
    -------
    dict
        The design, as `audit.json` holds it, with `out`, `folder` and `files` that were written.

    Raises
    ------
    StageError
        If the stages' tables are not those of the release.
    InputError
        If there is no turn to draw.
    ConfigError
        If forms with other content lie where these would be written.
    """
    release = open_release(out, None)
    tables = StageTables(Workspace(out))
    if reason := tables.mismatch(release.id):
        raise StageError(f"audit reads the turns of release {release.id[:12]} from the stages: {reason}; run it again")
    held = population(tables, options)
    if not held.sizes.sum():
        raise InputError(
            f"{out}: no turn may be shown to people: all {held.left_out:,} refused consent or are excluded"
        )
    drawn = _draw(held, release.id, options)
    judged = _tasks(tables, drawn)
    design = _design(release, held, drawn, options)
    folder = audit_folder(out, drawn.audit_id)
    made = {k: v for form in forms for k, v in FORMS[form](drawn.audit_id, judged).items()}
    written = {storage.join(to or folder, name): data for name, data in made.items()}
    _keep_answers(written)
    storage.write_table(storage.join(folder, SAMPLE), _sample(drawn, judged))
    storage.write_bytes(storage.join(folder, DESIGN), storage.readable_json(design))
    for path, data in written.items():
        storage.write_bytes(path, data)
    return design | {"out": out, "folder": folder, "files": list(written)}


def _keep_answers(written: dict[str, bytes]) -> None:
    """Refuse to write over a form that is not as it would be drawn: people's work may be in it."""
    held = [path for path, data in written.items() if storage.exists(path) and storage.read_bytes(path) != data]
    if held:
        others = f" and {len(held) - 1} more" if len(held) > 1 else ""
        raise ConfigError(
            f"audit: {held[0]}{others} is there and may hold answers, so nothing was written; read it with --read, "
            "move it away, or give another --to"
        )


def _draw(held: Population, release_id: str, options: AuditOptions) -> Drawn:
    own = cells_that_fit(held.sizes, options)
    names = [name for name, alone in zip(held.domains, own, strict=True) if alone]
    place = np.where(own, np.cumsum(own) - 1, len(names))
    if not own.all():
        names.append(OTHER)
    sizes = np.zeros((len(names), len(DECISIONS)), np.int64)
    np.add.at(sizes, place, held.sizes)
    wanted = shared_out(sizes.ravel(), options)
    cell = place[held.domain] * len(DECISIONS) + held.decision
    rows = lowest(held.order, cell, wanted)
    rows = rows[np.argsort(held.order[rows], kind="stable")]
    named = storage.sha256(storage.canonical_json([FORMAT, release_id, dataclasses.asdict(options)]))
    return Drawn(named[:_ID_DIGITS], names, sizes.ravel(), wanted, cell[rows], held.bucket[rows], held.row[rows])


def _tasks(tables: StageTables, drawn: Drawn) -> list[Task]:
    """Tasks in the order of the draw."""
    names = np.array([f"{drawn.audit_id}-{k:04d}" for k in range(1, len(drawn.row) + 1)], dtype=object)
    made: dict[str, Task] = {}
    for bucket in np.unique(drawn.bucket).tolist():
        at = np.flatnonzero(drawn.bucket == bucket)
        at = at[np.argsort(drawn.row[at])]
        made |= {task.task_id: task for task in tasks(tables, bucket, drawn.row[at], names[at].tolist())}
    return [made[name] for name in names]


def _sample(drawn: Drawn, judged: list[Task]) -> pa.Table:
    domain, decision = np.divmod(drawn.cell, len(DECISIONS))
    inclusion = drawn.wanted[drawn.cell] / drawn.sizes[drawn.cell]
    return AUDIT_SAMPLE.conform(
        pa.table(
            {
                "task_id": [task.task_id for task in judged],
                "turn_id": [task.turn_id for task in judged],
                "domain": [drawn.group[k] for k in domain],
                "decision": [DECISIONS[k] for k in decision],
                "inclusion": inclusion,
                "candidate_id": pa.array([task.candidate_id for task in judged], pa.string()),
            }
        )
    )


def _design(release: Release, held: Population, drawn: Drawn, options: AuditOptions) -> dict[str, Any]:
    shared = sorted(set(held.domains) - set(drawn.group)) if OTHER in drawn.group else []
    identity = release.manifest["identity"]
    return {
        "format": FORMAT,
        "audit_id": drawn.audit_id,
        "release_id": release.id,
        "models": identity["models"],
        "thresholds": release.manifest["thresholds"],
        "options": dataclasses.asdict(options),
        "turns": int(held.sizes.sum()),
        "left_out": {"not_learnable": held.left_out},
        "drawn": len(drawn.row),
        "other_domains": shared,
        "strata": [
            {
                "domain": drawn.group[k // len(DECISIONS)],
                "decision": DECISIONS[k % len(DECISIONS)],
                "turns": int(size),
                "drawn": int(n),
                "inclusion": round(float(n / size), 9),
            }
            for k, (size, n) in enumerate(zip(drawn.sizes, drawn.wanted, strict=True))
            if size
        ],
    }
