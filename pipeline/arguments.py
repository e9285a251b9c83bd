"""The arguments of the command `afterword`."""

from __future__ import annotations

import argparse

from pipeline.lifecycle import arguments as lifecycle
from pipeline.log import FORMATS
from pipeline.stages import STAGES, SUMMARIES

EXPORTS = ("rasa", "clu", "lex-v2", "dialogflow-cx", "jointbert", "massive", "hf", "verifiers")


def parser() -> argparse.ArgumentParser:
    """All commands; which one was given is `command`."""
    root = argparse.ArgumentParser(
        prog="afterword",
        description="Implicit feedback in dialog logs, turned into verified supervision.",
        epilog="Options of the Beam runner follow after --, for example: -- --runner=FnApiRunner",
    )
    root.add_argument("--version", action=_Version, nargs=0, help="version of the code, and exit")
    commands = root.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="the main job: all stages, then verify")
    _reads(run, required=False)
    run.add_argument(
        "--from",
        dest="first",
        choices=STAGES,
        default="ingest",
        help="begin with this stage; earlier ones are taken as --out holds them",
    )
    _common(run)
    _budget(run)
    run.add_argument("--metrics", metavar="FILE", help="figures of the run for Prometheus; the same as events.metrics")
    for stage in STAGES:
        command = commands.add_parser(stage, help=SUMMARIES[stage])
        if stage == "ingest":
            _reads(command, required=True)
            _budget(command)
        _common(command)
    _looks(commands.add_parser("ready", help="is the input all there? a cheap look, for a scheduler's sensor"))
    _pulls(
        commands.add_parser("pull", help="write rows of BigQuery, as they were at one time, as files that run reads")
    )
    _plans(commands.add_parser("plan", help="what a run would cost, before it starts"))
    _simulates(commands.add_parser("simulate", help="write a made-up log, and its truth beside it"))
    _verifies(commands.add_parser("verify", help="prove a release from its files alone"))
    _explains(commands.add_parser("explain", help="why a turn or an example is what it is"))
    _audits(commands.add_parser("audit", help="draw turns for people to judge, and read what they say"))
    _evaluates(commands.add_parser("evaluate", help="hold a release or a model against labels of people"))
    _exports(commands.add_parser("export", help="write a release for a classical NLU trainer or an RL environment"))
    _pushes(commands.add_parser("push", help="load what a run concluded of each turn into BigQuery, a day a partition"))
    lifecycle.add(commands)
    return root


class _Version(argparse.Action):
    """Print the version, found only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from pipeline.version import code_version

        print(f"afterword {code_version()}")
        parser.exit()


def _simulates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="folder; gets logs/ and truth/")
    parser.add_argument("--turns", type=int, default=24_000, metavar="N", help="turns of the log (%(default)s)")
    parser.add_argument("--users", type=int, metavar="N", help="distinct users (one for 60 turns)")
    parser.add_argument("--days", type=int, default=7, metavar="N", help="days that it covers (%(default)s)")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="the same seed gives the same bytes")
    parser.add_argument("--files", type=int, default=1, metavar="N", help="at least so many files")
    parser.add_argument("--form", default="jsonl", metavar="FORM", help="jsonl (packed) or parquet")
    parser.add_argument("--wishes", type=int, default=3_000, metavar="N", help="things users may want (%(default)s)")
    parser.add_argument(
        "--rate",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how often something happens; docs/cli.md lists the names; may be given several times",
    )


def _looks(parser: argparse.ArgumentParser) -> None:
    _inputs(parser, required=True)
    parser.add_argument("--out", metavar="PATH", help="output folder: what lies below it is no input")


def _pulls(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="bq://project.dataset.table[$partition], or bq+query:FILE.sql")
    parser.add_argument("--to", required=True, metavar="FOLDER", help="new or empty folder; gets data/ and counts.json")
    parser.add_argument(
        "--snapshot", metavar="TIME", help="time as of which it is read, @snapshot in a query: ISO 8601, offset (now)"
    )
    parser.add_argument("--project", metavar="ID", help="project that pays (the table's, or that of the credentials)")
    parser.add_argument("--streams", type=int, default=8, metavar="N", help="streams read at once (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _pushes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder of a run")
    parser.add_argument("--release", metavar="ID", help="another release than CURRENT; its first 8 characters will do")
    parser.add_argument("--to", required=True, metavar="DATASET", help="bq://project.dataset")
    parser.add_argument("--project", metavar="ID", help="project that pays (the dataset's)")
    parser.add_argument(
        "--replace", action="store_true", help="a release without an interval: replace days of another log, too"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _inputs(parser: argparse.ArgumentParser, required: bool) -> None:
    parser.add_argument(
        "--input",
        required=required,
        metavar="PATH",
        help="file, folder or glob, {a,b} for several, on any Beam file system; gz and zst are read",
    )
    parser.add_argument("--format", required=required, metavar="NAME", help="reader; docs/cli.md lists them")
    parser.add_argument(
        "--expect",
        metavar="FILE",
        help="records that each file or partition of the input holds (CSV, JSON, bq://table); less is not ready (8)",
    )
    parser.add_argument(
        "--marker", metavar="NAME", help="file that a folder of the input holds once it is whole, for example _SUCCESS"
    )
    _pays(parser)


def _pays(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--project", metavar="ID", help="project that pays where BigQuery is asked (the table's, or the credentials')"
    )


def _reads(parser: argparse.ArgumentParser, required: bool) -> None:
    _inputs(parser, required)
    parser.add_argument(
        "--gold",
        action="append",
        default=[],
        metavar="PATH",
        help="labels of people (gold columns): .parquet, .jsonl, .csv, a folder or a glob; may be given several times",
    )


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder")
    _config(parser)
    parser.add_argument("--run-id", metavar="ID", help="<out>/runs/ID keeps its record; one for all commands of a run")
    parser.add_argument("--log-format", choices=FORMATS, help="lines on standard error: text or JSON (text)")


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="TOML file; docs/config.md lists the keys")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        dest="overrides",
        help="set one key of the configuration; may be given several times",
    )
    parser.add_argument("--timezone", metavar="ZONE", help="IANA zone of times without an offset")


def _plans(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input", required=True, metavar="PATH", help="file, folder or glob, on any Beam file system; or bq://table"
    )
    parser.add_argument("--format", required=True, metavar="NAME", help="reader; docs/cli.md lists them")
    _config(parser)
    engines = ("local", "dataflow", "spark")
    parser.add_argument("--out", metavar="PATH", help="output folder: what lies below it is no input")
    parser.add_argument("--runner", choices=engines, help="engine of the run (that of the options after --, or local)")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="workers, of a vCPU each (--max_num_workers after --, or 1)"
    )
    _pays(parser)
    _budget(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _budget(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_argument_group("cost, estimated (docs/cost.md)")
    budget.add_argument("--max-cost", type=float, metavar="X", help="refuse what is estimated to cost more")
    budget.add_argument(
        "--job-minutes", type=float, metavar="N", help="minutes that a job takes to start and to end (Dataflow: 3)"
    )
    units = {
        "vcpu-hour": "an hour of a vCPU, by your price list",
        "gib-hour": "an hour of a GiB of memory",
        "shuffle-gib": "a GiB shuffled",
    }
    for name, unit in units.items():
        budget.add_argument(f"--price-{name}", type=float, metavar="X", help=f"price of {unit}")


def _verifies(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", help="a release folder, or an output folder (its CURRENT is proved)")


def _explains(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="turn_id, or example_id (its first 8 characters will do)")
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder")
    parser.add_argument("--release", metavar="ID", help="another release than CURRENT; its first 8 characters will do")
    parser.add_argument("--turns", action="store_true", help="list the ids of other users' turns, too")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _audits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder; its CURRENT release is audited")
    parser.add_argument("--n", type=int, default=300, metavar="N", help="turns to draw (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed draws other turns")
    parser.add_argument("--to", metavar="FOLDER", help="folder for the forms (<out>/audits/<audit id>)")
    parser.add_argument(
        "--form",
        action="append",
        choices=("jsonl", "csv", "label-studio", "argilla", "all"),
        help="what people judge in; may be given several times (all)",
    )
    parser.add_argument("--read", nargs="+", metavar="FILE", help="read answers back instead: filled forms or exports")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _evaluates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder")
    parser.add_argument(
        "--gold",
        required=True,
        action="append",
        metavar="PATH",
        help="labels (gold columns): .parquet, .jsonl, .csv, a folder or a glob; may be given several times",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--release", metavar="ID", help="another release than CURRENT; its first 8 characters will do")
    which.add_argument("--model", metavar="FILE", help="a models.json that judges the turns anew, instead of a release")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _exports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder of a run")
    parser.add_argument("--release", metavar="ID", help="another release than CURRENT; its first 8 characters will do")
    parser.add_argument("--format", required=True, choices=EXPORTS, help="whose form; docs/views.md says more")
    parser.add_argument("--to", required=True, metavar="FOLDER", help="new or empty folder")
    parser.add_argument(
        "--split", choices=("train", "test", "all"), default="train", help="all: both in one, where the format can"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
