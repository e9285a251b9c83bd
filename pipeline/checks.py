"""What has to hold of the options beyond their types: bounds of numbers, times, names that have to be known."""

from __future__ import annotations

import math
import re
import zoneinfo
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from features.lexicon import load as load_lexicon
from models.options import FUNCTIONS, LABEL_SOURCES, LEAST_FOLDS, WISHES, WORDS
from pipeline.errors import ConfigError
from pipeline.options import Config
from pipeline.privacy.options import TYPES

MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHARE: Final = (0.0, 1.0)
# Least and largest value of each number: the bounds that a type does not say.
BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "shuffle.bucket_bytes": (1, math.inf),
    "workers.threads": (0, math.inf),
    "ingest.lateness": (0, math.inf),
    **{f"privacy.{name}": (0, math.inf) for name in (*TYPES.values(), "recogniser_score", "sample_rows")},
    "signals.session_gap": (0, math.inf),
    "signals.session_cap": (1, math.inf),
    "signals.session_bytes": (1, math.inf),
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
    "curate.duplicate_exact": (0, math.inf),
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


def check(config: Config) -> Config:
    """Hold a configuration to what a type does not say; gives it back.

    Raises
    ------
    ConfigError
        With the first option that cannot be.
    """
    for name, (least, most) in BOUNDS.items():
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
    if config.ingest.incremental and config.release.interval_start is None:
        raise ConfigError("ingest.incremental: release.interval_start and release.interval_end are wanted with it")
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


def parse_microseconds(text: str, name: str) -> int:
    """The same in microseconds of the epoch, as tables of turns have times."""
    return (parse_time(text, name) - _EPOCH) // MICROSECOND
