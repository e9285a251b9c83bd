"""The command `afterword`.

    afterword run --input logs/ --format canonical --out out/ [--config run.toml] [-- --runner=FnApiRunner]
    afterword ready --input logs/ --format canonical --expect counts.csv
    afterword pull 'bq://project.dataset.table$20261101' --to pulled/
    afterword push --out out/ --to bq://project.dataset
    afterword plan --input logs/ --format canonical
    afterword verify out/
    afterword explain ID --out out/
    afterword audit --out out/ [--read ANSWERS ...]
    afterword evaluate --out out/ --gold LABELS
    afterword export --out out/ --format rasa --to nlu/
    afterword simulate --out made/
    afterword forget --out out/ --user ID
    afterword rollback | pin | gc | diff --out out/ ...

Exit codes are in docs/cli.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn

from pipeline.arguments import parser
from pipeline.errors import AfterwordError, StageError
from pipeline.lifecycle.arguments import COMMANDS as LIFECYCLE


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code."""
    own, beam_args = _split(list(sys.argv[1:] if argv is None else argv))
    arguments = parser().parse_args(own)
    _quiet()
    try:
        code = int(_COMMANDS.get(arguments.command, _stage)(arguments, beam_args))
        sys.stdout.flush()
        return code
    except AfterwordError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("stopped; the last release stays current", 130)
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from writing to it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        return _fail(f"{error.filename or 'a file'}: {error.strerror or error}; the last release stays current", 1)


def console() -> NoReturn:
    """Run the command as a process of its own, and end it.

    All is written and closed by then. The ordinary end of the interpreter also destroys the thread pools of the
    libraries' C++ parts, which now and then aborts the process ("terminate called without an active exception"): a run
    whose release is current would end with a code that says it failed.
    """
    code = main()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _fail(message: str, code: int) -> int:
    # Standard error may be closed as well.
    with suppress(OSError):
        print(f"afterword: {message}", file=sys.stderr)
    return code


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the runner's after `--`."""
    if "--" in argv:
        at = argv.index("--")
        return argv[:at], argv[at + 1 :]
    return argv, []


def _quiet() -> None:
    """Settings that must stand before the libraries are imported."""
    # Great Expectations sends usage data unless told not to.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # Waiting OpenMP threads sleep instead of spinning: on a busy machine spinning costs minutes.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _context(arguments: argparse.Namespace, beam_args: list[str]) -> Any:
    import logging

    from apache_beam.io.filesystems import FileSystems

    from pipeline.config import load
    from pipeline.errors import ConfigError
    from pipeline.jobs.context import Context, pipeline_options
    from pipeline.jobs.remote import reachable
    from pipeline.log import log_format
    from pipeline.workspace import Workspace

    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    if any(c in arguments.out for c in "*?["):
        raise ConfigError(f"--out {arguments.out}: a name without * ? [ is wanted; Beam takes them for patterns")
    overrides = list(arguments.overrides)
    if arguments.timezone:
        overrides.append(f'ingest.timezone="{arguments.timezone}"')
    if getattr(arguments, "metrics", None):
        overrides.append(f"events.metrics={json.dumps(arguments.metrics)}")
    config = load(arguments.config, overrides)
    options = pipeline_options(beam_args)
    reachable(options, out=arguments.out, input=getattr(arguments, "input", None))
    FileSystems.set_options(options)
    context = Context(Workspace(arguments.out.rstrip("/") or "/"), config, beam_args)
    context.progress.as_json = log_format(getattr(arguments, "log_format", None)) == "json"
    context.progress.log.run_id = context.run_id
    return context


@contextmanager
def _alone(out: str) -> Iterator[None]:
    """Hold an output folder's work area; two runs at once on one folder would mix their stages."""
    from pathlib import Path

    from pipeline import storage

    if not storage.is_local(out):
        yield
        return
    import fcntl

    storage.make_folder(out)
    with (Path(out) / ".work.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StageError(f"{out}: another run is at work here; wait for it, or give another --out") from None
        yield


def _wanted(arguments: argparse.Namespace) -> Any:
    """What the input has to hold to be whole."""
    from pipeline.completeness.expected import read_expectations
    from pipeline.completeness.ready import Wanted

    return Wanted(read_expectations(arguments.expect) if arguments.expect else None, arguments.marker)


def _ready(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from apache_beam.io.filesystems import FileSystems

    from pipeline import readers
    from pipeline.completeness.ready import ready, ready_rows, told
    from pipeline.jobs.context import pipeline_options
    from pipeline.warehouse.source import is_warehouse

    FileSystems.set_options(pipeline_options(beam_args))
    if is_warehouse(arguments.input):
        print(ready_rows(arguments.input, _wanted(arguments)))
        return 0
    suffixes = readers.reader(arguments.format).suffixes
    print(told(*ready(arguments.input, suffixes, arguments.out, _wanted(arguments))))
    return 0


def _pull(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from apache_beam.io.filesystems import FileSystems

    from pipeline import storage
    from pipeline.jobs.context import pipeline_options
    from pipeline.warehouse.pull import pull
    from pipeline.warehouse.render import pulled_text

    FileSystems.set_options(pipeline_options(beam_args))
    to = arguments.to.rstrip("/") or "/"
    told = pull(arguments.source, to, arguments.snapshot, arguments.project, arguments.streams)
    print(storage.readable_json(told).decode().rstrip() if arguments.json else pulled_text(told, to))
    return 0


def _push(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from apache_beam.io.filesystems import FileSystems

    from pipeline import storage
    from pipeline.jobs.context import pipeline_options
    from pipeline.warehouse.push import push
    from pipeline.warehouse.render import pushed_text

    FileSystems.set_options(pipeline_options(beam_args))
    out = arguments.out.rstrip("/") or "/"
    with _alone(out):
        told = push(out, arguments.release, arguments.to, arguments.project)
    print(storage.readable_json(told).decode().rstrip() if arguments.json else pushed_text(told))
    return 0


def _run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pipeline.closing import closing_table
    from pipeline.errors import ConfigError
    from pipeline.jobs import run as job

    if arguments.first == "ingest" and not (arguments.input and arguments.format):
        raise ConfigError("run: --input and --format are wanted (or --from a later stage)")
    if arguments.gold and arguments.first != "ingest":
        raise ConfigError(f"--gold is read by stage ingest: run from there, or copy the file to {arguments.out}/gold")
    if (arguments.expect or arguments.marker) and arguments.first != "ingest":
        raise ConfigError("--expect and --marker are of stage ingest, which is not run; leave them out")
    context = _context(arguments, beam_args)
    wanted = _wanted(arguments)
    if arguments.max_cost is not None:
        from pipeline.plan import afford

        if arguments.first != "ingest":
            raise ConfigError("run: --max-cost is of a whole run, from its input on; it has no place beside --from")
        afford(_planned(arguments, context.config, _engine(context), 1))
    with _alone(arguments.out):
        result = job.run(context, arguments.input, arguments.format, arguments.first, tuple(arguments.gold), wanted)
    print(closing_table(result))
    return 0


def _engine(context: Any) -> str:
    """Whose costs a run has, by its runner's name."""
    from apache_beam.options.pipeline_options import StandardOptions

    name = str(context.options.view_as(StandardOptions).runner).lower()
    return "local" if "fnapi" in name else "dataflow" if "dataflow" in name else "spark"


def _planned(arguments: argparse.Namespace, config: Any, engine: str, workers: int) -> dict[str, Any]:
    """An estimate of the run that the arguments describe; what lies in its output folder is no input."""
    from pipeline.plan import Budget, plan

    prices = {n: getattr(arguments, f"price_{n}") for n in ("vcpu_hour", "gib_hour", "shuffle_gib")}
    budget = Budget(engine, workers, arguments.max_cost, **prices)
    return plan(arguments.input, arguments.format, config, budget, getattr(arguments, "out", None))


def _plan(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pipeline import storage
    from pipeline.config import load
    from pipeline.plan import afford, render

    config = load(arguments.config, list(arguments.overrides))
    told = _planned(arguments, config, arguments.runner, arguments.workers)
    print(storage.readable_json(told).decode() if arguments.json else render(told), end="" if arguments.json else "\n")
    afford(told)
    return 0


def _stage(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    import importlib

    context = _context(arguments, beam_args)
    stage = importlib.import_module(f"pipeline.jobs.{arguments.command}")
    with _alone(arguments.out), context.progress.stage(arguments.command):
        if arguments.command == "ingest":
            stage.run(context, arguments.input, arguments.format, tuple(arguments.gold), _wanted(arguments))
        else:
            stage.run(context)
        context.keep_options(arguments.command)
    return 0


def _simulate(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pathlib import Path

    from pipeline.errors import ConfigError
    from simulator.options import SimulateOptions, SimulatorError, rates
    from simulator.simulate import closing_table, simulate

    names = ("turns", "users", "days", "seed", "files", "form")
    try:
        options = SimulateOptions(**{n: getattr(arguments, n) for n in names}, rates=rates(arguments.rate))
        summary = simulate(Path(arguments.out), options)
    except SimulatorError as error:
        raise ConfigError(str(error)) from None
    print(closing_table(summary, Path(arguments.out)))
    return 0


def _verify(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pipeline import storage
    from pipeline.publish import publisher
    from pipeline.verify import verify

    folder = arguments.release.rstrip("/")
    if not storage.exists(storage.join(folder, "manifest.json")) and storage.exists(storage.join(folder, "CURRENT")):
        folder = storage.join(folder, "releases", publisher(folder).current() or "")
    for proof in verify(folder):
        print(f"verified  {proof}")
    print(f"release   {folder}")
    return 0


def _explain(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pipeline.explain.gather import explain
    from pipeline.explain.render import render

    told = explain(arguments.out.rstrip("/") or "/", arguments.id, arguments.release)
    if arguments.json:
        from pipeline import storage

        print(storage.readable_json(told).decode(), end="")
    else:
        print(render(told, arguments.turns))
    return 0


def _audit(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from models.sampling import AuditOptions
    from pipeline import storage
    from pipeline.audit.drawing import FORMS, draw_audit
    from pipeline.audit.reading import read_audit
    from pipeline.audit.render import drawn_text, figures_text
    from pipeline.errors import ConfigError

    out = arguments.out.rstrip("/") or "/"
    options = AuditOptions(n=arguments.n, seed=arguments.seed)
    if arguments.n < options.smallest:
        raise ConfigError(
            f"audit: --n {arguments.n}: at least {options.smallest} is wanted, or some turns have no chance"
        )
    if arguments.read and (arguments.to or arguments.form):
        raise ConfigError("audit: --read draws nothing, so --to and --form have no place beside it")
    if arguments.read:
        found, text = read_audit(out, arguments.read), figures_text
    else:
        named = arguments.form or ["all"]
        forms = tuple(name for name in FORMS if name in named or "all" in named)
        found, text = draw_audit(out, options, arguments.to, forms), drawn_text
    print(storage.readable_json(found).decode() if arguments.json else text(found), end="" if arguments.json else "\n")
    return 0


def _evaluate(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pipeline import storage
    from pipeline.evaluate.job import evaluate
    from pipeline.evaluate.render import render

    out = arguments.out.rstrip("/") or "/"
    told = evaluate(out, arguments.gold, arguments.release, arguments.model)
    print(storage.readable_json(told).decode() if arguments.json else render(told), end="" if arguments.json else "\n")
    return 0


def _export(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from pipeline import storage
    from pipeline.export.job import export
    from pipeline.export.render import render

    out, to = arguments.out.rstrip("/") or "/", arguments.to.rstrip("/") or "/"
    told = export(out, arguments.release, arguments.format, to, arguments.split)
    print(storage.readable_json(told).decode().rstrip() if arguments.json else render(told, to))
    return 0


def _lifecycle(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    from contextlib import nullcontext

    from pipeline import storage
    from pipeline.errors import ConfigError
    from pipeline.lifecycle.commands import run

    arguments.overrides, arguments.timezone = [], None
    arguments.config = getattr(arguments, "config", None)
    context = _context(arguments, beam_args)
    if not storage.exists(context.workspace.out):
        raise ConfigError(f"--out {arguments.out}: no such folder")
    changes = arguments.command == "forget" or (arguments.command == "gc" and arguments.delete)
    with _alone(context.workspace.out) if changes else nullcontext():
        print(run(arguments, context))
    return 0


# Every other command is a stage.
_COMMANDS: Final[dict[str, Callable[[argparse.Namespace, list[str]], int]]] = {
    "run": _run,
    "ready": _ready,
    "pull": _pull,
    "push": _push,
    "plan": _plan,
    "simulate": _simulate,
    "verify": _verify,
    "explain": _explain,
    "audit": _audit,
    "evaluate": _evaluate,
    "export": _export,
    **dict.fromkeys(LIFECYCLE, _lifecycle),
}


if __name__ == "__main__":
    console()
