"""What every stage is given, and how a Beam pipeline is run."""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import apache_beam as beam
import pyarrow as pa
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    StandardOptions,
    _BeamArgumentParser,
)
from apache_beam.runners.runner import PipelineState, create_runner

from pipeline import storage
from pipeline.errors import AfterwordError, ConfigError, OnlyBuilt
from pipeline.jobs import remote, spark, workers
from pipeline.jobs.attempts import Attempt, attempt, identity, left_running
from pipeline.jobs.beam_options import Options
from pipeline.jobs.endpoint import guarded, job_endpoint
from pipeline.jobs.failures import failures
from pipeline.jobs.remote import LOCAL_RUNNER
from pipeline.jobs.stopped import apart, cancelled_when_stopped, send
from pipeline.memory import give_back
from pipeline.monitoring import counted, largest
from pipeline.options import Config
from pipeline.progress import Progress
from pipeline.transforms.counts import total
from pipeline.transforms.sessions import Sharing, large
from pipeline.version import code_version
from pipeline.workspace import Workspace
from schemas import COUNT, Record

OPTIONS_FILE: Final = "options.json"
_DOWNLOADERS: Final = frozenset({"directrunner", "switchingdirectrunner", "prismrunner"})


@dataclass
class Context:
    """One output folder, its configuration, and the runner's own options."""

    workspace: Workspace
    config: Config
    beam_args: list[str] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    run_id: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}")
    jobs: int = 0
    attempt: Attempt | None = None

    @property
    def run_folder(self) -> str:
        """Where all that carries a clock is kept."""
        return storage.join(self.workspace.out, "runs", self.run_id)

    @property
    def options(self) -> PipelineOptions:
        """Beam's options, checked."""
        return pipeline_options(self.beam_args)

    @property
    def shuffle_mode(self) -> str:
        """`spill` on the local runner, `native` elsewhere, unless the configuration names one."""
        mode = self.config.shuffle.mode
        if mode != "auto":
            return mode
        return "spill" if self.options.view_as(StandardOptions).runner == LOCAL_RUNNER else "native"

    @property
    def threads(self) -> int:
        """What a worker works on at once."""
        return at_once(self.config, self.options)

    def sharing(self, stage: str, sizes: Mapping[int, int]) -> Sharing:
        """How a stage shares out buckets of these bytes."""
        return Sharing(large(sizes, self.threads), self.workspace.spill(stage), self.threads)

    def keep_options(self, stage: str) -> None:
        """Keep beside a finished stage what it was run with, paths too: `forget` runs it again."""
        path = storage.join(self.workspace.stage(stage), OPTIONS_FILE)
        storage.write_bytes(path, storage.readable_json(dataclasses.asdict(self.config)))

    def begin(self, stage: str, *given: object) -> None:
        """Begin a stage: clear it, or on Dataflow take up an attempt that was left with its job running.

        Parameters
        ----------
        stage : str
        *given : object
            What it is made from beside the stages before it and the configuration, as values that JSON has.

        Raises
        ------
        StageError
            If what it reads is not whole.
        BusyError
            If a job of other work still writes to its folder.
        ConfigError
            If its job is only to be built and the stage is done.
        """
        self.jobs, self.attempt = 0, None
        if (built := remote.only_built(self.options)) and self.workspace.whole(stage):
            raise ConfigError(
                f"{built}: stage {stage} of {self.workspace.out} is done, and a job that is only built would clear it; "
                "give another --out with the stages before it, or leave the option out to run it again"
            )
        if remote.on_dataflow(self.options):
            self.attempt = self._attempt(stage, given)
        self.workspace.begin(stage, self.attempt is not None and self.attempt.resumed)
        if self.attempt is not None and self.attempt.resumed:
            self.progress.note(f"{stage}: taken up again, with {len(self.attempt.names)} job(s) of an earlier command")

    def _attempt(self, stage: str, given: tuple[object, ...]) -> Attempt:
        work = (stage, self.workspace.out, code_version(), self.workspace.upstream(stage))
        same = identity(*work, dataclasses.asdict(self.config), given)
        return attempt(self.workspace.stage(stage), same, self.workspace.whole(stage), self.options)

    def run(self, build: Callable[[beam.Pipeline], None]) -> None:
        """Run one pipeline to its end.

        Raises
        ------
        AfterwordError
            If it did not end well: of the class that a worker raised, where that was ours.
        OnlyBuilt
            If the runner's options have it built and not run.
        """
        options = self.options
        self.jobs += 1
        if remote.on_dataflow(options):
            remote.name_job(options, self.progress.at, self.run_id, self.jobs, self.attempt)
        workers.watch()
        # What was done before is over, and the work wants the memory, in this process or beside it.
        give_back()
        pipeline = beam.Pipeline(options=options)
        build(pipeline)
        sent: Future[Any] = Future()
        with failures(), cancelled_when_stopped(sent, self._note):
            state = self._ended(options, lambda: self._waited(pipeline, options, sent))
        if state is not None and state != PipelineState.DONE:
            raise AfterwordError(f"the runner ended the pipeline in state {state}; its own log says why")
        give_back()
        for name, value in largest(sent.result()).items():
            self.progress.largest(name, value)

    def _note(self, text: str) -> None:
        self.progress.note(f"{self.progress.at}: {text}")

    @staticmethod
    def _ended(options: PipelineOptions, work: Callable[[], str | None]) -> str | None:
        """The state in which the work ends: it is done here on the local runner, and else waits in a thread."""
        endpoint = job_endpoint(options)
        if endpoint is not None:
            return guarded(endpoint, work)
        return apart(work).result() if remote.on_dataflow(options) else work()

    def _waited(self, pipeline: beam.Pipeline, options: PipelineOptions, sent: Future[Any]) -> str | None:
        """Send the job, put what the runner has of it into `sent`, and wait for its end; gives its state.

        One that an earlier command has sent is waited for instead.
        """
        result = None
        if self.attempt is not None and self.attempt.resumed:
            result = left_running(remote.job_name(options), options)
        if result is not None:
            self._note(f"job {result.job_id()} of an earlier command is waited for")
        return self._wait(send(sent, pipeline.run if result is None else lambda: result), options)

    def _wait(self, result: Any, options: PipelineOptions) -> str | None:
        if not remote.on_dataflow(options):
            return result.wait_until_finish()  # type: ignore[no-any-return]
        if built := remote.only_built(options):
            raise OnlyBuilt(
                f"{self.progress.at}: its first job was built ({built}) and nothing was run, so the stage is not done; "
                "leave the option out to run it"
            )
        remote.keep(storage.join(self.run_folder, remote.JOBS_FILE), result, self.progress.at, options)
        return remote.wait(result, options)


def pipeline_options(args: list[str]) -> PipelineOptions:
    """Parse the runner's options; the local runner where none is named.

    Raises
    ------
    ConfigError
        For an option or a runner that Beam does not know, or a mode that loses rows or reaches for the network.
    """
    unknown = _unknown(args)
    if unknown:
        raise ConfigError(f"after --: Beam has no option {' '.join(unknown)}")
    options = Options(args, save_main_session=False)
    standard = options.view_as(StandardOptions)
    if standard.runner is None:
        standard.runner = LOCAL_RUNNER
    if standard.runner.rsplit(".", 1)[-1].lower() in _DOWNLOADERS:
        raise ConfigError(f"--runner={standard.runner} tries to download another runner; name --runner=FnApiRunner")
    try:
        create_runner(standard.runner)
    except (ValueError, ImportError, AttributeError) as error:
        raise ConfigError(f"--runner={standard.runner}: {str(error).splitlines()[0]}") from None
    if options.view_as(DirectOptions).direct_running_mode == "multi_threading":
        raise ConfigError("--direct_running_mode=multi_threading loses rows; use in_memory or multi_processing")
    remote.check(options)
    spark.check(options)
    return options


def _unknown(args: list[str]) -> list[str]:
    """Arguments that no options class of Beam takes; Beam itself would drop them with a warning."""
    parser = _BeamArgumentParser(allow_abbrev=False)
    for options in {str(cls): cls for cls in PipelineOptions.__subclasses__()}.values():
        options._add_argparse_args(parser)
    return parser.parse_known_args(args)[1]


def write_one(tables: beam.PCollection, path: str, record: Record) -> None:
    """Put a PCollection of small tables together and write them as one file."""

    def together(parts: Iterable[pa.Table]) -> pa.Table:
        return pa.concat_tables([record.empty(), *parts])

    def write(table: pa.Table) -> None:
        # Parts come in any order, and what is written has one.
        storage.write_record(path, table.sort_by([(k, "ascending") for k in record.key]), record)

    name = path.rsplit("/", 1)[-1].partition(".")[0].title()
    whole = tables | f"Gather{name}" >> beam.CombineGlobally(together).with_output_types(pa.Table)
    _ = whole | f"Write{name}" >> beam.Map(write).with_output_types(type(None))


def write_counts(tables: beam.PCollection, path: str) -> None:
    """Sum COUNT tables and write them as one file; a runner's pages have them as counters."""
    summed = total(tables) | "Monitor" >> beam.Map(counted).with_output_types(pa.Table)
    write_one(summed, path, COUNT)


def numbers(pipeline: beam.Pipeline, buckets: list[int]) -> beam.PCollection:
    """Bucket numbers as elements that a runner may spread over its workers; in their order where it works in here."""
    return pipeline | beam.Create(buckets, reshuffle=not in_here(pipeline.options))


def at_once(config: Config, options: PipelineOptions) -> int:
    """What a worker works on at once: as many as named, else 2 on the local runner, where one has the machine."""
    if config.workers.threads:
        return config.workers.threads
    local = options.view_as(StandardOptions).runner == LOCAL_RUNNER
    return min(2, os.cpu_count() or 1) if local else 1


def in_here(options: PipelineOptions) -> bool:
    """Whether the local runner works in this process alone."""
    direct, runner = options.view_as(DirectOptions), options.view_as(StandardOptions).runner
    return runner == LOCAL_RUNNER and direct.direct_running_mode == "in_memory" and direct.direct_num_workers == 1
