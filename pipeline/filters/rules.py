"""Rules that keep turns out of learning: incidents and filters, as their files give them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import ConfigError
from pipeline.given import Given, entries, only, read_given, table_of, texts
from schemas import EXPIRED, NO_CONSENT

INCIDENTS: Final = "filters.incidents"
FILTERS: Final = "filters.file"
# Key of a rule to the column of a turn whose values it lists. `domain` is that of the leading interpretation.
LISTS: Final[dict[str, str]] = {
    "users": "user_id",
    "channels": "channel",
    "app_versions": "app_version",
    "policies": "policy",
    "regions": "region",
    "locales": "locale",
    "domains": "domain",
}
_INCIDENT: Final = (
    "name",
    "why",
    "from",
    "to",
    "app_versions",
    "policies",
    "channels",
    "regions",
    "locales",
    "domains",
)
_FILTER: Final = (*_INCIDENT, "users", "user_hashes", "user_prefixes", "user_pattern", "turns_per_minute")
# What `TURN.excluded` says of a turn's own columns and of a user's own wish; no rule of a file has such a name.
RESERVED: Final = ("opt_out", NO_CONSENT, EXPIRED)
# A name stands in counts and messages.
_NAME: Final = re.compile(r"[\w.:-]{1,64}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Rule:
    """One incident or filter. A turn is its where everything that is given holds; a list where one of it does.

    Attributes
    ----------
    name : str
    why : str
        What happened; may be empty.
    lists : dict of str to tuple of str
        Key of `LISTS` to values.
    begins, ends : datetime or None
        The turn's time is at or after the first and before the second.
    user_hashes : tuple of str
        SHA-256 of user ids in UTF-8, in hexadecimal: for lists that must not name people.
    user_prefixes : tuple of str
    user_pattern : str or None
        RE2, found anywhere in the user id.
    turns_per_minute : int or None
        All turns of a user who has more turns than this in some span of less than a minute.
    expired_by : datetime or None
        The turn was to be deleted at this time or before it.
    without_consent : bool
        Its user has not said yes to learning from it.
    """

    name: str
    why: str
    lists: dict[str, tuple[str, ...]]
    begins: datetime | None = None
    ends: datetime | None = None
    user_hashes: tuple[str, ...] = ()
    user_prefixes: tuple[str, ...] = ()
    user_pattern: str | None = None
    turns_per_minute: int | None = None
    expired_by: datetime | None = None
    without_consent: bool = False


def own_rules(require_consent: bool, interval_end: datetime | None) -> list[Rule]:
    """Rules over what turns say of themselves, which go before those of files.

    Parameters
    ----------
    require_consent : bool
        Whether a turn has to state consent.
    interval_end : datetime or None
        End of the interval that is run; None = no turn expires, as a clock would give the same log other examples.
    """
    rules = []
    if require_consent:
        rules.append(Rule(NO_CONSENT, "filters.require_consent: it states no consent", {}, without_consent=True))
    if interval_end is not None:
        rules.append(Rule(EXPIRED, "expires is not after the interval's end", {}, expired_by=interval_end))
    return rules


def read_incidents(path: str) -> tuple[list[Rule], Given]:
    """The incidents of a file: tables `[[incident]]`.

    Raises
    ------
    ConfigError
        If one cannot be right, with its number and key.
    """
    return _read(path, INCIDENTS, "incident", _INCIDENT)


def read_filters(path: str) -> tuple[list[Rule], Given]:
    """The filters of a file: tables `[[filter]]`.

    Raises
    ------
    ConfigError
        If one cannot be right, with its number and key.
    """
    return _read(path, FILTERS, "filter", _FILTER)


def _read(path: str, option: str, table: str, keys: tuple[str, ...]) -> tuple[list[Rule], Given]:
    given = read_given(path, option)
    held = table_of(given)
    only(held, (table,), given.where)
    return [_rule(entry, keys, at) for at, entry in entries(held, table, given.where)], given


def _rule(entry: dict[str, Any], keys: tuple[str, ...], where: str) -> Rule:
    only(entry, keys, where)
    rule = Rule(
        name=_name(entry, where),
        why=str(entry.get("why", "")),
        lists={key: found for key in LISTS if (found := texts(entry, key, where)) is not None},
        begins=_time(entry, "from", where),
        ends=_time(entry, "to", where),
        user_hashes=_hashes(entry, where),
        user_prefixes=texts(entry, "user_prefixes", where) or (),
        user_pattern=_pattern(entry, where),
        turns_per_minute=_rate(entry, where),
    )
    if set(entry) <= {"name", "why"}:
        raise ConfigError(f"{where}: {rule.name} holds of every turn; give one of {', '.join(keys[2:])}")
    if rule.begins and rule.ends and rule.ends <= rule.begins:
        raise ConfigError(f"{where}: to {rule.ends.isoformat()} is not after from {rule.begins.isoformat()}")
    return rule


def _name(entry: dict[str, Any], where: str) -> str:
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in RESERVED:
        raise ConfigError(
            f"{where} name: up to 64 letters, digits and . : _ - are wanted, and none of {', '.join(RESERVED)}; "
            f"found {name!r:.80}"
        )
    return name


def _time(entry: dict[str, Any], key: str, where: str) -> datetime | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ConfigError(
            f"{where} {key}: ISO 8601 with an offset is wanted, for example 2026-03-01T00:00:00Z, "
            f"found {entry[key]!s:.80}"
        )
    return value


def _hashes(entry: dict[str, Any], where: str) -> tuple[str, ...]:
    found = tuple(value.lower() for value in texts(entry, "user_hashes", where) or ())
    if wrong := next((value for value in found if not _SHA256.fullmatch(value)), None):
        raise ConfigError(f"{where} user_hashes: SHA-256 as 64 hexadecimal digits is wanted, found {wrong:.80}")
    return found


def _pattern(entry: dict[str, Any], where: str) -> str | None:
    pattern = entry.get("user_pattern")
    if pattern is None:
        return None
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except (pa.ArrowException, TypeError) as error:
        raise ConfigError(f"{where} user_pattern: a regular expression (RE2) is wanted ({error})") from None
    if not pattern:
        raise ConfigError(f"{where} user_pattern: it is empty, and would hold of every user")
    return str(pattern)


def _rate(entry: dict[str, Any], where: str) -> int | None:
    rate = entry.get("turns_per_minute")
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int) or rate < 1):
        raise ConfigError(f"{where} turns_per_minute: a whole number, at least 1, is wanted, found {rate!r:.80}")
    return rate
