"""What each stage reads and writes, as its events name it: folders of tables, the log, the release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.events import Events, Table, views_of
from pipeline.jobs.context import Context
from pipeline.release_files import RECORDS
from pipeline.tail.files import OPEN, RECENT, TURNS_FOLDER
from pipeline.tail.takeover import Taken, take_over
from schemas import (
    CORRECTION,
    DEAD_LETTER,
    EXAMPLE,
    GOLD,
    JUDGEMENT,
    LEFT_OUT,
    REDACTION,
    SIGNALS,
    TAIL,
    TURN,
    Record,
)

_MODELS: Final = ("train", "models.json", None)
_TURNS: Final = ("ingest", "turns", TURN)
_GOLD: Final = ("ingest", "gold", GOLD)
_SIGNALS: Final = ("signals", "signals", SIGNALS)
_JUDGED: Final = (("label", "judgements", JUDGEMENT), ("label", "corrections", CORRECTION))
_TAIL: Final = (("ingest", OPEN, TAIL), ("ingest", RECENT, TAIL))
_DEAD: Final = ("ingest", "dead_letters", DEAD_LETTER)
_CURATED: Final = (("curate", "examples", EXAMPLE), ("curate", "left_out", LEFT_OUT))

_Named = tuple[tuple[str, str, Record | None], ...]
# Stage that left it, name and record of what a stage reads and of what it leaves; what is not there is not told.
_READS: Final[dict[str, _Named]] = {
    "signals": (_TURNS,),
    "train": (_TURNS, _GOLD, _SIGNALS),
    "label": (_TURNS, _GOLD, _SIGNALS, ("train", "gold", GOLD), _MODELS),
    "curate": (_TURNS, *_JUDGED),
    "release": (*_CURATED, _DEAD, *_TAIL),
}
_WRITES: Final[dict[str, _Named]] = {
    "ingest": (_TURNS, _GOLD, _DEAD, ("ingest", "redactions", REDACTION), *_TAIL),
    "signals": (_SIGNALS,),
    "train": (("train", "gold", GOLD), _MODELS),
    "label": _JUDGED,
    "curate": _CURATED,
}


def log_of(pattern: str | None, gold: tuple[str, ...], taken: Taken | None) -> list[Table]:
    """What stage ingest reads: the log, labels, and the tail of the release that it takes over from."""
    read = [Table(pattern)] if pattern else []
    read += [Table(path, GOLD) for path in gold]
    return read + ([Table(storage.join(taken.folder, TURNS_FOLDER), TAIL)] if taken and taken.turns else [])


@contextmanager
def told(context: Context, events: Events, stage: str, log: list[Table]) -> Iterator[None]:
    """Tell of a stage as it begins and ends, with what it reads and has written; `log` is what ingest reads."""
    with events.stage(stage, log if stage == "ingest" else _there(context, _READS[stage])) as wrote:
        yield
        wrote += release_of(context) if stage == "release" else _there(context, _WRITES[stage])


@contextmanager
def alone(context: Context, stage: str, pattern: str | None = None, gold: tuple[str, ...] = ()) -> Iterator[None]:
    """Tell of a stage that is run by itself, as `told` does."""
    events = Events(context.run_folder, context.config.events, context.progress.note)
    taken = take_over(context.workspace.out, context.config) if stage == "ingest" else None
    with told(context, events, stage, log_of(pattern, gold, taken)):
        yield


def release_of(context: Context) -> list[Table]:
    """The tables of the release that stage release made."""
    workspace = context.workspace
    folder = storage.join(workspace.out, "releases", workspace.facts("release")["release_id"])
    return views_of(folder, manifests.read(folder)["files"], RECORDS)


def _there(context: Context, named: _Named) -> list[Table]:
    paths = [(context.workspace.table(stage, name), record) for stage, name, record in named]
    return [Table(path, record) for path, record in paths if storage.exists(path)]
