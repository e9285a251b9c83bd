"""The configuration of a run: one TOML file, every key optional, every key settable on the command line."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
import types
import typing
import zoneinfo
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from features.lexicon import load as load_lexicon
from features.signals import SignalOptions
from models.chain import ChainOptions
from models.options import FUNCTIONS, LABEL_SOURCES, LEAST_FOLDS, WISHES, WORDS, TrainOptions
from pipeline import storage
from pipeline.errors import ConfigError
from pipeline.events import EventsOptions
from pipeline.filters.options import FilterOptions
from pipeline.gates.options import GatesOptions
from pipeline.given import name_of
from pipeline.ontology.options import OntologyOptions
from pipeline.privacy.options import TYPES, PrivacyOptions


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
    reject_min_users : int
        The same for what was done and found wrong. Nothing is relabelled by it, so one user's defective turn is a case.
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
    deduplicate : bool
        Of examples that teach the same in words that are nearly the same, keep one (split, locale, domain, intent and
        slots are the same; near words with another label are information). A test example that is nearly one of train
        is left out, whatever the labels.
    duplicate_likeness : float
        Least share of their letter sequences that near-duplicates have in common (Jaccard). A letter more or less in 40
        characters is 0.8; docs/benchmarks.md has what others would take away.
    duplicate_letters : int
        Letters of a sequence, spaces among them. A text shorter than that is like no other.
    decontaminate : str or None
        Evaluation sets: a file, a folder or a glob of .jsonl, .csv, .tsv, .parquet or .txt. An example whose utterance
        is a text of theirs, or that shares a run of words with one, is left out. The contents of the files, and not
        this path, are part of what names the release.
    decontaminate_columns : str or None
        Their columns of text, separated by commas. None = those with a usual name: text, utterance, question,
        messages and so on.
    decontaminate_words : int
        Words of such a run. Ordinary language repeats runs of up to five or six words; published sets are checked
        with 8 to 13.
    max_per_user : int or None
        Examples of train that one user alone supports, at most. None = no cap, here and below.
    max_per_intent : int or None
        Examples of train with one intent, at most.
    max_per_domain : int or None
        Examples of train with one domain, at most.
    replay_power : float
        Sampling of train's confirmations: of an intent that has n of them, replay_floor * (n / replay_floor) ^ this are
        kept. 1 = all; lower, and frequent intents have a smaller share.
    replay_floor : int
        An intent with no more confirmations than this keeps all of them.
    licences : str or None
        Licences of turns that may be learned from, separated by commas, as the log names them. Turns under others, or
        that state none, do not vote, and neither does a correction that one of them supports. None = any.
    training_set : str or None
        File of what the NLU is trained on now (see docs/inputs.md). An example of the same words with another label is
        not released over it, but listed for review, in `training_set_diff.csv` of the release.
    keep_known : bool
        Whether an example that the training set has already, same words and same label, is released all the same.
    """

    min_users: int = 2
    min_agreement: float = 0.8
    confirm_below: float = 0.05
    answer_min_users: int = 1
    reject_min_users: int = 1
    context_turns: int = 8
    context_chars: int = 8_000
    context_below: float = 0.2
    test_share: float = 0.1
    test_from: str | None = None
    deduplicate: bool = True
    duplicate_likeness: float = 0.8
    duplicate_letters: int = 4
    decontaminate: str | None = None
    decontaminate_columns: str | None = None
    decontaminate_words: int = 8
    max_per_user: int | None = None
    max_per_intent: int | None = None
    max_per_domain: int | None = None
    replay_power: float = 1.0
    replay_floor: int = 100
    licences: str | None = None
    training_set: str | None = None
    keep_known: bool = True


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
class ForgetOptions:
    """Forgetting users; see docs/forget.md.

    Attributes
    ----------
    key : str or None
        File of the secret key that tombstones are made under, 32 bytes or more in hexadecimal. None = what
        AFTERWORD_TOMBSTONE_KEY names, else <out>/tombstones/key, which is made when it is first needed.
    """

    key: str | None = None


@dataclass(frozen=True)
class Config:
    """All sections."""

    ingest: IngestOptions = field(default_factory=IngestOptions)
    ontology: OntologyOptions = field(default_factory=OntologyOptions)
    filters: FilterOptions = field(default_factory=FilterOptions)
    privacy: PrivacyOptions = field(default_factory=PrivacyOptions)
    shuffle: ShuffleOptions = field(default_factory=ShuffleOptions)
    workers: WorkerOptions = field(default_factory=WorkerOptions)
    signals: SignalOptions = field(default_factory=SignalOptions)
    sample: SampleOptions = field(default_factory=SampleOptions)
    chain: ChainOptions = field(default_factory=ChainOptions)
    train: TrainOptions = field(default_factory=TrainOptions)
    curate: CurateOptions = field(default_factory=CurateOptions)
    gates: GatesOptions = field(default_factory=GatesOptions)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)
    forget: ForgetOptions = field(default_factory=ForgetOptions)
    events: EventsOptions = field(default_factory=EventsOptions)

    def resolved(self) -> dict[str, Any]:
        """Every key with its value, for the manifest, less those that do not change what comes out.

        Of a file its name alone: what comes out hangs on its content, and not on where it lies.
        """
        out = dataclasses.asdict(self)
        del out["shuffle"], out["workers"], out["events"], out["forget"]
        # A path says nothing of what is there; the contents of the files are in the identity.
        del out["curate"]["decontaminate"]
        for name in _FILES:
            section, key = name.split(".")
            out[section][key] = None if out[section][key] is None else name_of(out[section][key])
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


def restore(held: dict[str, Any], where: str) -> Config:
    """The configuration that `dataclasses.asdict` made a dict of.

    Raises
    ------
    ConfigError
        If it is not one of this code's.
    """
    return _check(_build(Config, held, where))


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


# Options that name a file; its content is a part of a release's identity.
_FILES: Final = ("ontology.file", "filters.incidents", "filters.file", "filters.opt_out", "curate.training_set")
_SHARE: Final = (0.0, 1.0)
# Least and largest value of each number: the bounds that a type does not say.
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "shuffle.bucket_bytes": (1, math.inf),
    "workers.threads": (0, math.inf),
    **{f"privacy.{name}": (0, math.inf) for name in (*TYPES.values(), "recogniser_score", "sample_rows")},
    "signals.session_gap": (0, math.inf),
    "signals.session_cap": (1, math.inf),
    "signals.rephrase_turns": (1, math.inf),
    "signals.rephrase_gap": (0, math.inf),
    "signals.rephrase_likeness": _SHARE,
    "signals.horizon": (1, math.inf),
    "sample.train_rows": (1, math.inf),
    "chain.min_users": (1, math.inf),
    "chain.targets": (1, math.inf),
    "chain.least": _SHARE,
    "train.folds": (2, math.inf),
    "train.correction_rows": (1, math.inf),
    "train.precision": _SHARE,
    "train.least_correct": _SHARE,
    "train.certify_share": _SHARE,
    "train.weak_weight": _SHARE,
    "train.weak_threshold": _SHARE,
    "train.weak_tau": _SHARE,
    "curate.min_users": (1, math.inf),
    "curate.min_agreement": _SHARE,
    "curate.confirm_below": _SHARE,
    "curate.context_below": _SHARE,
    "curate.answer_min_users": (1, math.inf),
    "curate.reject_min_users": (1, math.inf),
    "curate.context_turns": (0, math.inf),
    "curate.context_chars": (0, math.inf),
    "curate.test_share": _SHARE,
    # Of texts that are less alike too few pairs would be found.
    "curate.duplicate_likeness": (0.5, 1.0),
    "curate.duplicate_letters": (1, math.inf),
    "curate.decontaminate_words": (1, math.inf),
    "curate.max_per_user": (1, math.inf),
    "curate.max_per_intent": (1, math.inf),
    "curate.max_per_domain": (1, math.inf),
    "curate.replay_power": _SHARE,
    "curate.replay_floor": (1, math.inf),
    "gates.max_defect_share": _SHARE,
    "gates.max_correction_share": _SHARE,
    "gates.max_dead_letter_share": _SHARE,
    "gates.min_plausible_times": _SHARE,
    "gates.min_drift_turns": (1, math.inf),
    "gates.max_defect_shift": _SHARE,
    "gates.max_intent_shift": _SHARE,
    "gates.max_length_shift": _SHARE,
    "gates.min_domain_turns": (1, math.inf),
    "gates.sample_rows": (1, math.inf),
    "release.shard_bytes": (1, math.inf),
}
_TIMES: Final = (
    "curate.test_from",
    "gates.earliest",
    "gates.latest",
    "release.interval_start",
    "release.interval_end",
)


def _check(config: Config) -> Config:
    """What a type does not say."""
    for name, (least, most) in _BOUNDS.items():
        if (value := _value(config, name)) is not None:
            _check_bounds(name, value, least, most)
    if config.shuffle.mode not in ("auto", "spill", "native"):
        raise ConfigError(f"shuffle.mode = {config.shuffle.mode!r}: auto, spill or native is wanted")
    if config.train.labels not in LABEL_SOURCES:
        raise ConfigError(f"train.labels = {config.train.labels!r}: {', '.join(LABEL_SOURCES)} is wanted")
    if config.train.weak_from not in (FUNCTIONS, WISHES, WORDS):
        raise ConfigError(f"train.weak_from = {config.train.weak_from!r}: functions, wishes or words is wanted")
    if (config.train.words or config.train.reading) and config.train.folds < LEAST_FOLDS:
        raise ConfigError(
            f"train.folds = {config.train.folds}: with train.words or train.reading at least {LEAST_FOLDS} are wanted"
        )
    _check_zone(config.ingest.timezone)
    if config.curate.licences is not None and not names(config.curate.licences):
        raise ConfigError("curate.licences: names separated by commas are wanted, for example CC-BY-4.0, CC0-1.0")
    for name in _TIMES:
        if (text := _value(config, name)) is not None:
            parse_time(text, name)
    if (config.release.interval_start is None) != (config.release.interval_end is None):
        raise ConfigError("release.interval_start and release.interval_end go together")
    _check_order(config, "release.interval_start", "release.interval_end")
    _check_order(config, "gates.earliest", "gates.latest")
    _check_language(config.signals.language)
    _check_regions(config.privacy.phone_regions)
    return config


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once, in order."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _value(config: Config, name: str) -> Any:
    section, key = name.split(".")
    return getattr(getattr(config, section), key)


def _check_bounds(name: str, value: float, least: float, most: float) -> None:
    # Written so that NaN is refused too.
    if not least <= value <= most:
        wanted = f"at least {least:g}" if most == math.inf else f"a number from {least:g} to {most:g}"
        raise ConfigError(f"{name} = {value}: {wanted} is wanted")


def _check_zone(zone: str | None) -> None:
    if zone is not None and zone not in zoneinfo.available_timezones():
        raise ConfigError(f"ingest.timezone = {zone!r}: an IANA zone is wanted, for example Europe/Berlin")


def _check_order(config: Config, first: str, second: str) -> None:
    """Of two times the second is later, if both are given."""
    start, end = _value(config, first), _value(config, second)
    if start is not None and end is not None and parse_time(end, second) <= parse_time(start, first):
        raise ConfigError(f"{second} {end} is not after {first} {start}")


def _check_language(language: str) -> None:
    try:
        load_lexicon(language)
    except LookupError as error:
        raise ConfigError(f"signals.language: {error}") from None


def _check_regions(regions: str) -> None:
    wrong = [name for name in regions.split(",") if not re.fullmatch("[A-Z]{2}", name.strip())]
    if wrong:
        raise ConfigError(f"privacy.phone_regions: {wrong[0]!r}: countries by ISO 3166-1 are wanted, for example US,DE")


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
