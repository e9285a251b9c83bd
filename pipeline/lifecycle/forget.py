"""`afterword forget`: whatever an output folder holds of a user goes, and does not come back.

In this order, so that a run that is stopped anywhere is gone on with by the same command: the tombstone, by which no
ingest takes the user in again; a record of what is to be done; what lies beside the releases; older releases; the
current one, replaced by one without the user; and then a search of every file that is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from pipeline import storage
from pipeline.config import restore
from pipeline.errors import ConfigError, GateError, InputError, StageError
from pipeline.filters.tombstones import TombstoneFiles, tombstone_files
from pipeline.jobs.context import Context
from pipeline.lifecycle import clean, search, stages
from pipeline.lifecycle.listing import PINS, pins, release_ids, remove_release
from pipeline.lifecycle.plan import NONE, RECOMPUTE, WITHDRAW, Plan, plan
from pipeline.lifecycle.record import Record, Records
from pipeline.lifecycle.withdraw import withdraw
from pipeline.publish import publisher

REMAINS: Final = (
    "the logs that were read, and copies of them: erase the user there, or every new output folder reads them again",
    "releases that were copied elsewhere, and files made of them (exports, tokenised or indexed data sets, caches)",
    "models that trainers made of a release named above, and copies of stages/train/models.json",
    "forms of audits that were written elsewhere (--to), or are in an annotation tool",
    "snapshots and backups of this output folder, and blocks that its disk has not overwritten yet",
)


@dataclass(frozen=True)
class ForgetRequest:
    """Who is to be forgotten, and how."""

    users: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    dry_run: bool = False
    keep_models: bool = False
    force: bool = False


def forget(context: Context, request: ForgetRequest) -> dict[str, Any]:
    """Forget users.

    Parameters
    ----------
    context : Context
        Of the output folder; nobody else may be at work in it.
    request : ForgetRequest

    Returns
    -------
    dict
        What was done, or with `dry_run` would be: `record.Record` with `examples` (release id to examples that the
        user was behind), `turns`, `dry_run` and `record`, the path of the record, or of a dry run `pinned`: pins of
        releases that hold the user, which keep them unless `force` is given.

    Raises
    ------
    ConfigError
        If nobody is named, the key of the tombstones is missing, or a pinned release would have to go.
    GateError
        If an id of the user still stands in a file when all is done.
    StageError
        If the current release can be replaced from neither the stages nor its own files.
    """
    out = context.workspace.out
    files = tombstone_files(out, context.config.forget.key)
    store = publisher(out)
    found = plan(out, files, store, request.users, request.conversations)
    if request.dry_run:
        record = _record(found, request)
        beside = _beside(out, found, record) if _is_held(found) else {}
        labels = clean.gold(out, search.sought(found.subjects, found.turn_ids), cut=False)
        record.removed |= {k: _names(out, paths) for k, paths in (beside | {"labels": labels}).items()}
        return _told(record, found) | {"dry_run": True, "pinned": _pinned(found)}
    _mind_pins(found, request.force)
    files.add(found.subjects)
    return _Forgetting(context, request, found, files).run()


def _mind_pins(found: Plan, force: bool) -> None:
    """Refuse to take a release away from a consumer who follows it by name."""
    pinned = _pinned(found)
    if pinned and not force:
        told = ", ".join(f"{name} ({release_id[:12]})" for name, release_id in pinned.items())
        raise ConfigError(
            f"forget: pinned releases hold the user: {told}. Nothing was changed. Move the pins (`afterword pin`), or "
            "give --force: they go, and pins of the current release follow the one that replaces it"
        )


def _pinned(found: Plan) -> dict[str, str]:
    """Pins of releases that hold the user."""
    return {name: release_id for name, release_id in sorted(found.pins.items()) if release_id in found.held}


def _is_held(found: Plan) -> bool:
    """Whether the user is in a turn or an example that is known here."""
    return found.path != NONE or bool(found.held) or found.in_stages > 0


def _beside(out: str, found: Plan, record: Record) -> dict[str, list[str]]:
    """What is to be removed beside stages and releases, by kind."""
    told_by = frozenset({record.current} if record.path == RECOMPUTE and record.current else set())
    return {
        "audits": clean.audits(out, found.turn_ids, told_by),
        "runs": clean.runs(out, search.sought(found.subjects, found.turn_ids)),
        "leftovers": clean.leftovers(out),
    }


def _names(out: str, paths: list[str]) -> list[str]:
    """Paths inside the output folder."""
    return sorted(path[len(out.rstrip("/")) + 1 :] for path in paths)


def _record(found: Plan, request: ForgetRequest) -> Record:
    models = [
        {"release_id": name} | found.manifests[name]["identity"]["models"] | {"refit": False}
        for name in sorted({*found.held, *([found.current] if found.current and found.path == RECOMPUTE else [])})
    ]
    # Models that were fitted before (`models.file`) are taken again as they are.
    fits = not request.keep_models and (found.options or {}).get("models", {}).get("file") is None
    for model in models:
        model["refit"] = found.path == RECOMPUTE and fits and model["release_id"] == found.current
    return Record(
        found.tombstones.macs,
        found.path,
        found.reason,
        found.current,
        options=found.options,
        keep_models=request.keep_models,
        models=models,
        removed={"releases": sorted(found.held)},
        remains=list(REMAINS),
    )


def _told(record: Record, found: Plan) -> dict[str, Any]:
    told = {k: v for k, v in vars(record).items() if k not in ("options", "done")}
    return told | {"examples": found.held, "turns": len(found.turn_ids)}


class _Forgetting:
    """The steps after the tombstone, each of which may be done again."""

    def __init__(self, context: Context, request: ForgetRequest, found: Plan, files: TombstoneFiles) -> None:
        self._context, self._request, self._found = context, request, found
        self._out, self._workspace = context.workspace.out, context.workspace
        self._store = publisher(self._out)
        self._tombstones = files.open()
        self._records = Records(self._out)
        self._cleaned = False
        self._number, self._record = self._begin()

    def run(self) -> dict[str, Any]:
        """Do all that is left to do."""
        self._write()
        self._clean()
        self._remove([name for name in self._found.held if name not in (self._record.current, self._found.parent)])
        self._replace()
        self._remove([*self._found.held])
        path = self._finish()
        return _told(self._record, self._found) | {"dry_run": False, "record": path}

    def _begin(self) -> tuple[int, Record]:
        """A new record, or that of a run which was stopped."""
        mine = _record(self._found, self._request)
        left = self._records.unfinished()
        if left is None:
            return self._records.next(), mine
        number, held = left
        self._cleaned = "labels" in held.removed and held.macs == mine.macs
        if held.path != NONE and held.current != self._found.current:
            # It was stopped after the switch: what is left is to remove the release that was replaced.
            mine.current, mine.replaced_by = held.current, self._found.current
        elif self._goes_on(held):
            mine.path, mine.reason, mine.current = held.path, held.reason, held.current
            mine.options, mine.keep_models = held.options, held.keep_models
        mine.models = _union(held.models, mine.models)
        for kind, names in held.removed.items():
            mine.removed[kind] = sorted({*names, *mine.removed.get(kind, [])})
        mine.moved_pins = held.moved_pins
        return number, mine

    def _goes_on(self, held: Record) -> bool:
        """Whether the stages were being run again, and still are to be: the tables that told so are cleared by now."""
        return held.path == RECOMPUTE and self._found.path != RECOMPUTE

    def _write(self) -> str:
        return self._records.write(self._number, self._record)

    def _clean(self) -> None:
        """Clear what lies beside stages and releases. Not twice: with the turns goes what tells whose an audit is."""
        found, record = self._found, self._record
        if self._cleaned:
            return
        if record.path != RECOMPUTE:
            self._note("stages", stages.clear_stale(self._workspace))
        # Where the user is in nothing that is known here, other users' runs and audits are left alone.
        beside = _beside(self._out, found, record) if _is_held(found) or record.path != NONE else {}
        for kind, paths in beside.items():
            for path in paths:
                storage.remove(path)
            self._note(kind, paths)
        self._note("labels", clean.gold(self._out, self._sought()))

    def _sought(self) -> search.Sought:
        return search.sought(self._found.subjects, self._found.turn_ids)

    def _note(self, kind: str, paths: list[str]) -> None:
        held = self._record.removed.get(kind, [])
        self._record.removed[kind] = sorted({*held, *_names(self._out, paths)})
        self._write()

    def _remove(self, names: list[str]) -> None:
        for name in names:
            if name in release_ids(self._out):
                remove_release(self._out, name)
        self._unpin()

    def _replace(self) -> None:
        """Replace the current release, and clear the stages of the user."""
        record = self._record
        if record.path == RECOMPUTE:
            self._replace_parent()
            record.replaced_by = self._recompute()
        if record.path == WITHDRAW and record.current:
            if self._found.in_stages:
                stages.clear(self._workspace)
            record.replaced_by = self._withdraw(record.current)
        if record.path == NONE and self._found.in_stages:
            stages.clear(self._workspace)
        self._write()

    def _replace_parent(self) -> None:
        """The release that examples are carried over from is needed once more, so it too is replaced."""
        if self._found.parent in release_ids(self._out):
            self._withdraw(self._found.parent or "", publish=False)
            self._remove([self._found.parent or ""])

    def _recompute(self) -> str | None:
        """Run the stages again; where their gates or the models refuse, take the release's own files."""
        record = self._record
        config = restore(record.options or {}, f"{self._out}/forgotten")
        context = Context(self._workspace, config, self._context.beam_args, self._context.progress)
        try:
            stages.take_out(self._workspace, self._tombstones, self._found.turn_ids)
            stages.clear_after_ingest(self._workspace, record.keep_models)
            return str(stages.again(context, record.keep_models)["release_id"])
        except (ConfigError, GateError, InputError, StageError) as error:
            record.path, record.reason = WITHDRAW, f"the stages cannot be run again without the user: {error}"
            for model in record.models:
                model["refit"] = False
            self._write()
            stages.clear(self._workspace)
            return None

    def _withdraw(self, release_id: str, publish: bool = True) -> str:
        manifest = self._found.manifests[release_id]
        return withdraw(self._context, manifest, self._tombstones, self._found.turn_ids, publish)

    def _unpin(self) -> None:
        """Pins of releases that are gone follow the current release where it took the place of theirs."""
        there = release_ids(self._out)
        for name, release_id in pins(self._out, self._store).items():
            if release_id in there or release_id not in self._record.removed["releases"]:
                continue
            to = self._store.current() if release_id == self._record.current else None
            to = to if to in there else None
            if to is None:
                self._store.drop(f"{PINS}/{name}")
            else:
                self._store.switch(f"{PINS}/{name}", to)
            self._record.moved_pins[name] = to
        self._write()

    def _finish(self) -> str:
        """Search all that is left; the record is closed only where nothing was found."""
        left = search.files_with(self._out, self._sought())
        if left:
            raise GateError(
                f"forget: {len(left)} file(s) still hold an id of the user: {', '.join(left[:5])}. The tombstone is "
                "set and all else is done. An input file that is named after a user, for one, stands in the manifest: "
                "rename it and run the log again; remove other files, then run this command again"
            )
        self._record.done = True
        return self._write()


def _union(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    held = {m["release_id"]: m for m in second} | {m["release_id"]: m for m in first}
    return [held[name] for name in sorted(held)]
