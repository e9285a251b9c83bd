from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.checks import BOUNDS, parse_time
from pipeline.config import load
from pipeline.errors import ConfigError
from pipeline.options import Config


def from_file(tmp_path: Path, text: str, *overrides: str) -> Config:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return load(str(path), list(overrides))


def test_nothing_given_is_the_defaults():
    assert load(None, []) == Config()


def test_a_file_sets_keys_and_the_command_line_wins(tmp_path: Path):
    config = from_file(tmp_path, "[curate]\nmin_users = 4\nmin_agreement = 1\n", "curate.min_users=5")
    assert (config.curate.min_users, config.curate.min_agreement) == (5, 1.0)
    assert isinstance(config.curate.min_agreement, float)


@pytest.mark.parametrize(
    ("override", "section", "key", "value"),
    [
        ("curate.min_users=3", "curate", "min_users", 3),
        ("curate.test_share = 0.25", "curate", "test_share", 0.25),
        ("ingest.timezone=Europe/Berlin", "ingest", "timezone", "Europe/Berlin"),
        ('ingest.timezone="Europe/Berlin"', "ingest", "timezone", "Europe/Berlin"),
        ("shuffle.mode=native", "shuffle", "mode", "native"),
        ("curate.test_from=2026-03-01T00:00:00Z", "curate", "test_from", "2026-03-01T00:00:00Z"),
    ],
)
def test_values_on_the_command_line(override: str, section: str, key: str, value: object):
    assert getattr(getattr(load(None, [override]), section), key) == value


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("nonsense", "section.key=value is wanted"),
        ("min_users=3", "section.key=value is wanted"),
        ("curate.=3", "section.key=value is wanted"),
        ("curate.min_user=3", "unknown key 'min_user'.*min_users"),
        ("curation.min_users=3", "unknown key 'curation'.*curate"),
        ("curate.min_users=three", "int is wanted, found 'three'"),
        ("curate.min_users=2.5", "int is wanted, found 2.5"),
        ("curate.min_users=true", "int is wanted, found True"),
        ("curate.test_share=true", "float is wanted, found True"),
        ("curate.min_users=", "int is wanted"),
        ("curate.min_users=0", "curate.min_users = 0: at least 1"),
        ("curate.answer_min_users=0", "curate.answer_min_users = 0: at least 1"),
        ("curate.context_turns=-1", "at least 0"),
        ("curate.context_chars=-1", "at least 0"),
        ("curate.test_share=1.5", "a number from 0 to 1"),
        ("curate.min_agreement=-0.1", "a number from 0 to 1"),
        ("curate.confirm_below=nan", "a number from 0 to 1"),
        ("curate.context_below=1.1", "a number from 0 to 1"),
        ("train.folds=1", "at least 2"),
        ("sample.train_rows=0", "at least 1"),
        ("release.shard_bytes=0", "at least 1"),
        ("shuffle.bucket_bytes=0", "at least 1"),
        ("gates.max_defect_share=1.5", "a number from 0 to 1"),
        ("gates.min_plausible_times=-1", "a number from 0 to 1"),
        ("gates.min_domain_turns=0", "at least 1"),
        ("gates.sample_rows=0", "at least 1"),
        ("gates.latest=2100-01-01", "ISO 8601 with an offset"),
        ("gates.latest=1999-01-01T00:00:00Z", "gates.latest .* is not after gates.earliest"),
        ("shuffle.mode=memory", "auto, spill or native"),
        ("signals.language=xx", "signals.language"),
        ("signals.by_locale=no", "bool is wanted"),
        ("privacy.redact=1", "bool is wanted"),
        ("privacy.email=-0.1", "privacy.email = -0.1: at least 0"),
        ("privacy.recogniser_score=nan", "at least 0"),
        ("privacy.phone_regions=US,Germany", "privacy.phone_regions: 'Germany': countries by ISO 3166-1"),
        ("signals.session_gap=-1", "session_gap"),
        ("signals.rephrase_turns=0", "rephrase_turns"),
        ("signals.horizon=0", "horizon"),
        ("train.weak_threshold=2", "a number from 0 to 1"),
        ("train.labels=silver", "both, gold, weak is wanted"),
        ("ingest.timezone=Mars/Olympus", "IANA zone"),
        ("curate.test_from=2026-03-01T00:00:00", "ISO 8601 with an offset"),
        ("curate.test_from=2026-03-01", "ISO 8601 with an offset"),
        ("curate.test_from=soon", "ISO 8601 with an offset"),
        ("release.interval_start=2026-03-01T00:00:00Z", "go together"),
    ],
)
def test_what_is_refused_and_what_the_message_says(override: str, says: str):
    with pytest.raises(ConfigError, match=says):
        load(None, [override])


def test_a_switch_takes_true_and_false():
    assert load(None, []).signals.by_locale is True
    assert load(None, ["signals.by_locale=false"]).signals.by_locale is False


def test_every_number_has_its_bounds_and_its_default_lies_within():
    sections = load(None, []).resolved() | {"shuffle": {"bucket_bytes": 1}, "workers": {"threads": 0}}
    numbers = {
        f"{section}.{key}": value
        for section, keys in sections.items()
        for key, value in keys.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    # Caps are off.
    unset = {f"curate.max_per_{what}" for what in ("user", "intent", "domain")}
    assert all(sections["curate"][name.partition(".")[2]] is None for name in unset)
    # Any number will do as a seed.
    assert numbers.keys() - {"train.seed"} | unset == BOUNDS.keys()
    assert all(least <= numbers[name] <= most for name, (least, most) in BOUNDS.items() if name not in unset)


def test_a_cap_that_is_set_has_a_bound():
    assert load(None, ["curate.max_per_intent=3"]).curate.max_per_intent == 3
    with pytest.raises(ConfigError, match=r"curate\.max_per_intent = 0: at least 1 is wanted"):
        load(None, ["curate.max_per_intent=0"])


def test_an_interval_must_end_after_it_starts():
    day = ["2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z"]
    with pytest.raises(ConfigError, match="not after"):
        load(None, [f"release.interval_start={day[0]}", f"release.interval_end={day[1]}"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("curate = 5", "a table of keys is wanted"),
        ("[curate", "not TOML"),
        ("[curate]\nx = 1", "unknown key 'x'"),
        ("[nope]\n", "unknown key 'nope'"),
        ("\xff", "unknown key|not TOML"),
    ],
)
def test_a_file_that_is_refused_is_named(tmp_path: Path, text: str, says: str):
    with pytest.raises(ConfigError, match=says) as error:
        from_file(tmp_path, text)
    assert "run.toml" in str(error.value)


def test_an_override_of_what_is_no_section_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="curate"):
        from_file(tmp_path, "curate = 5", "curate.min_users=3")


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        load(str(tmp_path / "none.toml"), [])


def test_a_bare_time_in_a_file_is_its_text(tmp_path: Path):
    config = from_file(tmp_path, "[curate]\ntest_from = 2026-03-01T00:00:00Z\n")
    assert parse_time(config.curate.test_from or "", "x").isoformat() == "2026-03-01T00:00:00+00:00"


def test_the_resolved_form_holds_every_key_but_how_rows_are_shuffled():
    resolved = load(None, ["shuffle.mode=native", "curate.min_users=3"]).resolved()
    assert "shuffle" not in resolved and resolved["curate"]["min_users"] == 3
    assert resolved == load(None, ["curate.min_users=3"]).resolved()


@pytest.mark.parametrize("option", ["words", "reading"])
def test_models_over_words_want_three_folds(tmp_path, option):
    with pytest.raises(ConfigError, match=r"train\.folds = 2: with train\.words or train\.reading at least 3"):
        from_file(tmp_path, f"[train]\nfolds = 2\n{option} = true\n")
    assert from_file(tmp_path, f"[train]\nfolds = 3\n{option} = true\n").train.folds == 3
