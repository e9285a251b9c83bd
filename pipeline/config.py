"""The configuration of a run: one TOML file, every key optional, every key settable on the command line."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
import zoneinfo
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from features.lexicon import load as load_lexicon
from features.signals import SignalOptions
from models.training import TrainOptions
from pipeline import storage
from pipeline.errors import ConfigError
from pipeline.gates.options import GatesOptions


@dataclass(frozen=True)
class IngestOptions:
    """Reading.

    Attributes
    ----------
    timezone : str or None
        IANA zone of times without an offset; None takes the reader's own, and refuses naive times if it has none.
    """

    timezone: str | None = None


@dataclass(frozen=True)
class ShuffleOptions:
    """Shuffling.

    Attributes
    ----------
    mode : str
        `spill`, `native`, or `auto`: spill on the local runner, native elsewhere.
    bucket_bytes : int
        Uncompressed input a bucket holds; the number of buckets follows from the input's size.
    """

    mode: str = "auto"
    bucket_bytes: int = 64 << 20


@dataclass(frozen=True)
class WorkerOptions:
    """Workers.

    Attributes
    ----------
    threads : int
        Buckets, or batches of a file, that a worker works on at once; 0 = two on the local runner, which has one worker
        for the whole machine, and one elsewhere. Each holds its own in memory. What comes out is the same.
    """

    threads: int = 0


@dataclass(frozen=True)
class SampleOptions:
    """Rows to train on.

    Attributes
    ----------
    train_rows : int
        At most so many turns, whole sessions of lowest hash. Bounds the time and the memory of the fit.
    """

    train_rows: int = 20_000


@dataclass(frozen=True)
class CurateOptions:
    """From judged turns to examples.

    Attributes
    ----------
    min_users : int
        Distinct users who must support a label, inside its split. One user's slip is not a rule.
    min_agreement : float
        Least share of an utterance's users who support its label (0.8 after Falke et al. 2020).
    confirm_below : float
        A turn with p(defect) at or below this confirms the interpretation that was executed, or the answer given.
    answer_min_users : int
        The same for the answers and tool calls of an agent. They are one-off: the same words in the same context rarely
        come twice. One user is enough, as nothing is relabelled: what satisfied is learned as it was said.
    context_turns : int
        Turns before an answer that the `sft` view shows with it: most of what a request refers to was said just before.
    context_chars : int
        Characters in them; about 2,000 tokens, so that an example fits a short training window. Older turns go first.
    context_below : float
        Highest p(defect) of a turn before an answer: trainers that mask by role learn every assistant turn in the
        context, so each has to be more than not judged defective. Wider than `confirm_below`, as a context ends at the
        first turn that is over it, and an answer without what it refers to teaches less.
    test_share : float
        Share of users, by hash, whose turns go to the test split.
    test_from : str or None
        ISO 8601 time with offset: train takes turns before it, test turns from it on. None = no cut in time.
    """

    min_users: int = 2
    min_agreement: float = 0.8
    confirm_below: float = 0.05
    answer_min_users: int = 1
    context_turns: int = 8
    context_chars: int = 8_000
    context_below: float = 0.2
    test_share: float = 0.1
    test_from: str | None = None


@dataclass(frozen=True)
class ReleaseOptions:
    """The release.

    Attributes
    ----------
    shard_bytes : int
        Largest size of a shard, as stored.
    interval_start, interval_end : str or None
        The interval that the run covers, ISO 8601 with offset. Its parent is the release whose interval ends where
        this one starts; CURRENT never moves back to an earlier one.
    """

    shard_bytes: int = 256 << 20
    interval_start: str | None = None
    interval_end: str | None = None


@dataclass(frozen=True)
class Config:
    """All sections."""

    ingest: IngestOptions = field(default_factory=IngestOptions)
    shuffle: ShuffleOptions = field(default_factory=ShuffleOptions)
    workers: WorkerOptions = field(default_factory=WorkerOptions)
    signals: SignalOptions = field(default_factory=SignalOptions)
    sample: SampleOptions = field(default_factory=SampleOptions)
    train: TrainOptions = field(default_factory=TrainOptions)
    curate: CurateOptions = field(default_factory=CurateOptions)
    gates: GatesOptions = field(default_factory=GatesOptions)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)

    def resolved(self) -> dict[str, Any]:
        """Every key with its value, for the manifest, less those that do not change what comes out."""
        out = dataclasses.asdict(self)
        del out["shuffle"], out["workers"]
        return out


def load(path: str | None, overrides: list[str]) -> Config:
    """Read a configuration file and apply `section.key=value` overrides.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a key or value is not one of ours.
    """
    data: dict[str, Any] = {}
    if path:
        try:
            data = tomllib.loads(storage.read_bytes(path).decode("utf-8"))
        except OSError as error:
            raise ConfigError(f"--config {path}: cannot be read ({error})") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"--config {path}: not TOML ({error})") from None
    for override in overrides:
        _override(data, override)
    return _check(_build(Config, data, path or "--set"))


def _override(data: dict[str, Any], text: str) -> None:
    name, equals, value = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and section and key):
        raise ConfigError(f"--set {text}: section.key=value is wanted, for example curate.min_users=3")
    try:
        parsed = tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    if not isinstance(parsed, bool | int | float | str):
        # A bare time is TOML too; here times are text.
        parsed = value.strip()
    held = data.setdefault(section, {})
    if not isinstance(held, dict):
        raise ConfigError(f"--set {text}: {section} is no section in the configuration file")
    held[key] = parsed


def _build(cls: type, data: dict[str, Any], where: str) -> Any:
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: a table of keys is wanted, found {data!r}")
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; there are: {', '.join(sorted(hints))}")
    values = {}
    for key, value in data.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            values[key] = _build(typing.cast(type, hint), value, f"{where} [{key}]")
        else:
            values[key] = _typed(value, hint, f"{where} {key}")
    return cls(**values)


def _typed(value: Any, hint: Any, where: str) -> Any:
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, datetime) and str in allowed:
        # A bare time in TOML; here times are text.
        return value.isoformat()
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
        wanted = " or ".join(t.__name__ for t in allowed if t is not type(None))
        raise ConfigError(f"{where}: {wanted} is wanted, found {value!r}")
    return value


def _check(config: Config) -> Config:
    """Bounds that a type does not say."""
    shares = {
        "signals.rephrase_likeness": config.signals.rephrase_likeness,
        "train.precision": config.train.precision,
        "train.margin": config.train.margin,
        "train.certify_share": config.train.certify_share,
        "train.weak_weight": config.train.weak_weight,
        "train.weak_threshold": config.train.weak_threshold,
        "train.weak_tau": config.train.weak_tau,
        "curate.min_agreement": config.curate.min_agreement,
        "curate.confirm_below": config.curate.confirm_below,
        "curate.context_below": config.curate.context_below,
        "curate.test_share": config.curate.test_share,
        "gates.max_defect_share": config.gates.max_defect_share,
        "gates.max_correction_share": config.gates.max_correction_share,
        "gates.max_dead_letter_share": config.gates.max_dead_letter_share,
        "gates.min_plausible_times": config.gates.min_plausible_times,
    }
    for name, value in shares.items():
        if not 0.0 <= value <= 1.0:
            raise ConfigError(f"{name} = {value}: a number from 0 to 1 is wanted")
    least_of = {
        "signals.session_gap": (config.signals.session_gap, 0),
        "signals.rephrase_gap": (config.signals.rephrase_gap, 0),
        "signals.rephrase_turns": (config.signals.rephrase_turns, 1),
        "signals.horizon": (config.signals.horizon, 1),
        "train.folds": (config.train.folds, 2),
        "train.correction_rows": (config.train.correction_rows, 1),
        "curate.min_users": (config.curate.min_users, 1),
        "curate.answer_min_users": (config.curate.answer_min_users, 1),
        "curate.context_turns": (config.curate.context_turns, 0),
        "curate.context_chars": (config.curate.context_chars, 0),
        "sample.train_rows": (config.sample.train_rows, 1),
        "signals.session_cap": (config.signals.session_cap, 1),
        "workers.threads": (config.workers.threads, 0),
        "shuffle.bucket_bytes": (config.shuffle.bucket_bytes, 1),
        "release.shard_bytes": (config.release.shard_bytes, 1),
        "gates.min_domain_turns": (config.gates.min_domain_turns, 1),
        "gates.sample_rows": (config.gates.sample_rows, 1),
    }
    for name, (number, least) in least_of.items():
        # Written so that NaN is refused too.
        if not number >= least:
            raise ConfigError(f"{name} = {number}: at least {least} is wanted")
    if config.shuffle.mode not in ("auto", "spill", "native"):
        raise ConfigError(f"shuffle.mode = {config.shuffle.mode!r}: auto, spill or native is wanted")
    _check_times(config)
    try:
        load_lexicon(config.signals.language)
    except LookupError as error:
        raise ConfigError(f"signals.language: {error}") from None
    return config


def _check_times(config: Config) -> None:
    zone = config.ingest.timezone
    if zone is not None and zone not in zoneinfo.available_timezones():
        raise ConfigError(f"ingest.timezone = {zone!r}: an IANA zone is wanted, for example Europe/Berlin")
    release = config.release
    for name, value in (
        ("curate.test_from", config.curate.test_from),
        ("release.interval_start", release.interval_start),
        ("release.interval_end", release.interval_end),
        ("gates.earliest", config.gates.earliest),
        ("gates.latest", config.gates.latest),
    ):
        if value is not None:
            parse_time(value, name)
    if (release.interval_start is None) != (release.interval_end is None):
        raise ConfigError("release.interval_start and release.interval_end go together")
    if release.interval_start is not None and release.interval_end is not None:
        start, end = (parse_time(t, "release.interval") for t in (release.interval_start, release.interval_end))
        if end <= start:
            raise ConfigError(f"release.interval_end {end} is not after release.interval_start {start}")
    if parse_time(config.gates.latest, "gates.latest") <= parse_time(config.gates.earliest, "gates.earliest"):
        raise ConfigError(f"gates.latest {config.gates.latest} is not after gates.earliest {config.gates.earliest}")


def parse_time(text: str, name: str) -> datetime:
    """An ISO 8601 time with offset.

    Raises
    ------
    ConfigError
        If it is malformed or naive.
    """
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        value = None
    if value is None or value.tzinfo is None:
        raise ConfigError(f"{name} = {text!r}: ISO 8601 with an offset is wanted, for example 2026-03-01T00:00:00Z")
    return value
