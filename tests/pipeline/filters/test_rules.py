from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from build import START, interpretation, turns

from pipeline.errors import ConfigError
from pipeline.filters.excluded import hasty, holds, with_excluded
from pipeline.filters.rules import Rule, own_rules, read_filters, read_incidents
from schemas import TURN


def incidents(tmp_path: Path, text: str) -> list[Rule]:
    path = tmp_path / "incidents.toml"
    path.write_text(text)
    return read_incidents(str(path))[0]


def filters(tmp_path: Path, text: str, name: str = "filters.toml") -> list[Rule]:
    path = tmp_path / name
    path.write_text(text)
    return read_filters(str(path))[0]


WINDOW = """
[[incident]]
name = "outage"
why = "the gateway was down"
from = 2026-03-01T10:00:10+01:00
to = "2026-03-01T09:00:30Z"
"""


def test_a_window_holds_from_its_start_to_before_its_end_in_any_zone(tmp_path: Path):
    (rule,) = incidents(tmp_path, WINDOW)
    assert rule.why == "the gateway was down" and rule.begins == START + timedelta(seconds=10)
    table = turns(*({"at": at} for at in (9.999999, 10.0, 29.999999, 30.0)))
    assert holds(table, rule).tolist() == [False, True, True, False]


@pytest.mark.parametrize(("key", "time"), [("from", "2026-03-01T09:00:10Z"), ("to", "2026-03-01T09:00:10Z")])
def test_a_window_may_be_open_on_one_side(tmp_path: Path, key: str, time: str):
    (rule,) = incidents(tmp_path, f'[[incident]]\nname = "a"\n{key} = {time}\n')
    assert holds(turns({"at": 0}, {"at": 10}), rule).tolist() == [key == "to", key == "from"]


def test_everything_that_is_given_has_to_hold_and_of_a_list_one(tmp_path: Path):
    (rule,) = incidents(tmp_path, '[[incident]]\nname = "a"\napp_versions = ["1", "2"]\nregions = "eu"\n')
    table = turns(
        {"app_version": "1", "region": "eu"},
        {"app_version": "2", "region": "eu"},
        {"app_version": "3", "region": "eu"},
        {"app_version": "1", "region": "us"},
        {"app_version": "1"},
        {"region": "eu"},
    )
    assert holds(table, rule).tolist() == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("key", "column"), [("policies", "policy"), ("channels", "channel"), ("locales", "locale"), ("regions", "region")]
)
def test_lists_of_columns(tmp_path: Path, key: str, column: str):
    (rule,) = filters(tmp_path, f'[[filter]]\nname = "a"\n{key} = ["x"]\n')
    assert holds(turns({column: "x"}, {column: "X"}, {}), rule).tolist() == [True, False, False]


def test_a_domain_is_that_of_the_leading_interpretation(tmp_path: Path):
    (rule,) = filters(tmp_path, '[[filter]]\nname = "a"\ndomains = ["x"]\n')
    x, y = interpretation(domain="x"), interpretation(domain="y")
    assert holds(
        turns({"nbest": [x, y]}, {"nbest": [y, x]}, {"nbest": []}, {"interpretations": None}), rule
    ).tolist() == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('users = ["bot-1", "ann"]', ["bot-1", "ann"]),
        ('user_prefixes = ["bot-", "a"]', ["bot-1", "bot-22", "ann"]),
        (r"user_pattern = '^bot-\d$'", ["bot-1"]),
        (f'user_hashes = ["{hashlib.sha256(b"ann").hexdigest().upper()}"]', ["ann"]),
        ('user_prefixes = ["bot-"]\nuser_pattern = "2"', ["bot-22"]),
    ],
)
def test_users_are_found_by_their_id(tmp_path: Path, condition: str, found: list[str]):
    (rule,) = filters(tmp_path, f'[[filter]]\nname = "a"\n{condition}\n')
    users = ["bot-1", "bot-22", "ann", "bob", "ann", None]
    table = turns(*({"user_id": u, "subject_id": u or "conv:c"} for u in users))
    assert [u for u, held in zip(users, holds(table, rule), strict=True) if held] == [
        u for u in users if u is not None and u in found
    ]


def test_a_user_of_too_many_turns_a_minute_is_out_with_all_turns():
    def rows(user: str, *at: float) -> list[dict]:
        return [{"turn_id": f"{user}{a}", "subject_id": user, "at": a} for a in at]

    table = turns(*rows("a", 0, 20, 40, 59.9, 500), *rows("b", 0, 20, 40, 60), *rows("c", 0, 1, 2))
    assert hasty(table, 3).tolist() == [True] * 5 + [False] * 7
    assert hasty(table, 2).tolist() == [True] * 12
    assert not hasty(table, 12).any() and not hasty(table, 100).any()


def test_the_first_rule_that_holds_names_the_turn(tmp_path: Path):
    rules = filters(
        tmp_path,
        '{"filter": [{"name": "a", "channels": ["x"]}, {"name": "b", "channels": ["x", "y"]}, '
        '{"name": "a", "channels": ["z"]}]}',
        "filters.json",
    )
    table = turns(*({"channel": c} for c in ("y", "x", "z", "w")))
    marked = with_excluded(table, rules)
    assert marked["excluded"].to_pylist() == ["b", "a", "a", None] and marked.schema.equals(TURN.schema)
    assert with_excluded(table, []) is table
    assert with_excluded(TURN.empty(), rules).num_rows == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[filters]]\n", "unknown key 'filters'; there are: filter"),
        ("filter = 3\n", "filter: a list of tables is wanted"),
        ('[[filter]]\nusers = ["a"]\n', r"filters.file filters.toml \[\[filter\]\] 1 name: up to 64"),
        ('[[filter]]\nname = "opt_out"\nusers = ["a"]\n', "none of opt_out, no_consent, expired; found .opt_out"),
        ('[[filter]]\nname = "a b"\nusers = ["a"]\n', "letters, digits"),
        ('[[filter]]\nname = "a"\nwhy = "b"\n', r"\[\[filter\]\] 1: a holds of every turn; give one of from, to"),
        ('[[filter]]\nname = "a"\nuser = ["a"]\n', "unknown key 'user'; there are: name, why"),
        ('[[filter]]\nname = "a"\nusers = []\n', r"\[\[filter\]\] 1 users: a text or a list of texts"),
        ('[[filter]]\nname = "a"\nusers = [3]\n', "users: a text or a list of texts"),
        ('[[filter]]\nname = "a"\nuser_pattern = "("\n', r"user_pattern: a regular expression \(RE2\)"),
        ('[[filter]]\nname = "a"\nuser_pattern = ""\n', "would hold of every user"),
        ('[[filter]]\nname = "a"\nuser_pattern = 3\n', "user_pattern: a regular expression"),
        ('[[filter]]\nname = "a"\nuser_hashes = ["abc"]\n', "user_hashes: SHA-256"),
        ('[[filter]]\nname = "a"\nturns_per_minute = 0\n', "turns_per_minute: a whole number"),
        ('[[filter]]\nname = "a"\nturns_per_minute = true\n', "turns_per_minute: a whole number"),
        ('[[filter]]\nname = "a"\nfrom = 2026-03-01T00:00:00\n', "from: ISO 8601 with an offset .*found 2026-03-01"),
        ('[[filter]]\nname = "a"\nfrom = 2026-03-01\n', "from: ISO 8601 with an offset"),
        ('[[filter]]\nname = "a"\nto = "soon"\n', "to: ISO 8601 with an offset .*found soon"),
        (
            '[[filter]]\nname = "a"\nfrom = 2026-03-01T00:00:00Z\nto = 2026-03-01T00:00:00Z\n',
            "to 2026-03-01.* is not after from",
        ),
    ],
)
def test_a_rule_that_cannot_be_right_says_which(tmp_path: Path, text: str, says: str):
    with pytest.raises(ConfigError, match=says):
        filters(tmp_path, text)


def test_a_turn_expires_at_the_end_of_the_interval_and_without_one_none_does():
    end = START + timedelta(hours=1)
    times = [None, START, end, end + timedelta(microseconds=1)]
    table = turns(*({"expires": time} for time in times))
    rules = own_rules(False, end)
    assert with_excluded(table, rules)["excluded"].to_pylist() == [None, "expired", "expired", None]
    assert own_rules(False, None) == []


def test_where_consent_is_asked_for_nothing_but_a_yes_is_one(tmp_path: Path):
    of_file = filters(tmp_path, '[[filter]]\nname = "a"\nchannels = ["x"]\n')
    table = turns(*({"consent": c, "channel": "x", "expires": START} for c in (True, False, None)))
    marked = with_excluded(table, [*own_rules(True, None), *of_file])
    assert marked["excluded"].to_pylist() == ["a", "no_consent", "no_consent"]
    marked = with_excluded(table, [*own_rules(True, START), *of_file])
    assert marked["excluded"].to_pylist() == ["expired", "no_consent", "no_consent"]


def test_an_incident_is_not_about_users(tmp_path: Path):
    with pytest.raises(ConfigError, match="unknown key 'users'"):
        incidents(tmp_path, '[[incident]]\nname = "a"\nusers = ["x"]\n')


def test_times_are_utc_inside(tmp_path: Path):
    (rule,) = incidents(tmp_path, WINDOW)
    assert rule.begins.astimezone(UTC) == datetime(2026, 3, 1, 9, 0, 10, tzinfo=UTC)
