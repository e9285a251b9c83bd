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

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn

from pipeline import log
from pipeline.arguments import parser
from pipeline.errors import AfterwordError, ConfigError
from pipeline.imports import imported
from pipeline.lifecycle.arguments import COMMANDS as LIFECYCLE
from pipeline.stages import STAGES

# Module of pipeline.commands of each command that has none by its own name.
_MODULES: Final = {**dict.fromkeys(STAGES, "stage"), **dict.fromkeys(LIFECYCLE, "lifecycle")}

# Commands that read files and run no job.
_ALONE: Final = frozenset({"simulate", "verify", "explain", "audit", "evaluate", "export"})


def main(argv: Sequence[str] | None = None, own_process: bool = False) -> int:
    """Run the command; gives the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Those of the process unless given.
    own_process : bool
        Whether nothing else runs in this process, so that it may be forked.
    """
    own, beam_args = _split(list(sys.argv[1:] if argv is None else argv))
    arguments = parser().parse_args(own)
    arguments.own_process = own_process
    quiet()
    try:
        log.begin(getattr(arguments, "log_format", None))
        _mind(arguments.command, beam_args)
        # Imported only now: of a command that is not run nothing is wanted, and some libraries take seconds.
        name = _MODULES.get(arguments.command, arguments.command)
        code = int(imported(f"pipeline.commands.{name}").run(arguments, beam_args))
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
    code = main(own_process=True)
    if "pipeline.processes" in sys.modules:
        sys.modules["pipeline.processes"].end()
    if "pipeline.jobs.spark" in sys.modules:
        sys.modules["pipeline.jobs.spark"].stop_servers()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _fail(message: str, code: int) -> int:
    # Standard error may be closed as well.
    with suppress(OSError):
        print(log.current().said("failed", f"afterword: {message}", code), file=sys.stderr)
    return code


def _mind(command: str, beam_args: list[str]) -> None:
    """Refuse options of a runner where nothing would read them."""
    if beam_args and command in _ALONE:
        raise ConfigError(f"{command}: it runs no job and takes no options of a runner after --: {' '.join(beam_args)}")


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the runner's after `--`."""
    if "--" in argv:
        at = argv.index("--")
        return argv[:at], argv[at + 1 :]
    return argv, []


def quiet() -> None:
    """Settings that must stand before the libraries are imported."""
    # Great Expectations sends usage data unless told not to.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # Waiting OpenMP threads sleep instead of spinning: on a busy machine spinning costs minutes.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


if __name__ == "__main__":
    console()
