"""Expectation suites: what must hold of each table before a release is switched to. Plain data, no library.

`type` and `kwargs` are those of Great Expectations; a `Setting` among the kwargs is filled in when a gate runs. The
first expectation of a suite counts the table's rows, since one on values holds for a table of none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from schemas.example import KINDS, LEAST_USERS, SPLITS
from schemas.gates import (
    DOMAIN_SUMMARY,
    EXAMPLE_SAMPLE,
    JUDGEMENT_SAMPLE,
    SIGNAL_SAMPLE,
    STAGE_SUMMARY,
    TURN_SAMPLE,
    VIEW_SAMPLE,
)
from schemas.judgement import BLAMES
from schemas.record import Record
from schemas.turn import OUTCOMES

WHOLE: Final = "whole"
DOMAIN: Final = "domain"
STAGES_SUMMED: Final = ("ingest", "signals", "label", "curate")

_AGAIN: Final = "run the stage that wrote the table and what follows it again, and report it if it stays"


@dataclass(frozen=True)
class Setting:
    """A value that is known when a gate runs: `section.key` of the configuration, or `rows.<table>`: rows
    that were counted, of a sample or (`_all`) of the whole.
    """

    key: str


@dataclass(frozen=True)
class Expectation:
    """One thing that must hold.

    Attributes
    ----------
    name : str
        What must hold, in words; unique in its suite.
    type : str
        Name that Great Expectations has for it.
    kwargs : mapping
        Its arguments.
    advice : str
        What to do where it does not hold.
    scope : str
        `whole`: its failure stops the switch. `domain`: the rows that fail name the domains to quarantine.
    """

    name: str
    type: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    advice: str = _AGAIN
    scope: str = WHOLE


@dataclass(frozen=True)
class Suite:
    """The expectations on one table; `names_rows_by` is the column that names failing rows, for small tables only."""

    name: str
    record: Record
    expectations: tuple[Expectation, ...]
    names_rows_by: str | None = None


def _column(name: str, type: str, column: str, **kwargs: Any) -> Expectation:
    return Expectation(name, f"expect_column_{type}", {"column": column, **kwargs})


def _not_null(column: str) -> Expectation:
    return _column(f"{column} is never null", "values_to_not_be_null", column)


def _unique(column: str) -> Expectation:
    return _column(f"{column} is unique", "values_to_be_unique", column)


def _between(column: str, low: Any = None, high: Any = None) -> Expectation:
    said = f"{column} is in [0, 1]" if (low, high) == (0, 1) else f"{column} is large enough"
    kwargs = {k: v for k, v in (("min_value", low), ("max_value", high)) if v is not None}
    return _column(said, "values_to_be_between", column, **kwargs)


def _one_of(column: str, values: tuple[str, ...]) -> Expectation:
    return _column(f"{column} is one of its list", "values_to_be_in_set", column, value_set=list(values))


def _equal(name: str, left: str, right: str) -> Expectation:
    return Expectation(name, "expect_column_pair_values_to_be_equal", {"column_A": left, "column_B": right})


def _rows(suite: str) -> Expectation:
    return Expectation(
        "it has the rows that were counted", "expect_table_row_count_to_equal", {"value": Setting(f"rows.{suite}")}
    )


def _supported(kind: str) -> Expectation:
    kwargs = {
        "column": "support",
        "min_value": Setting(f"curate.{LEAST_USERS[kind]}"),
        "row_condition": f"kind == '{kind}'",
        "condition_parser": "pandas",
    }
    return Expectation(f"every {kind} has its support", "expect_column_values_to_be_between", kwargs)


def _steady(what: str, column: str) -> Expectation:
    """A domain that moves further from one release to the next than logs do is looked at before it is learned from."""
    return Expectation(
        f"{what} as in the parent release",
        "expect_column_values_to_be_between",
        {"column": column, "max_value": Setting(f"gates.max_{column}")},
        "look at what changed in it since the parent release: another version of the assistant, a part of the log that "
        f"was lost, a campaign? If it is right to learn from it, raise gates.max_{column} for this run",
        DOMAIN,
    )


STAGES: Final = Suite(
    "stages",
    STAGE_SUMMARY,
    (
        _rows("stages"),
        _one_of("stage", STAGES_SUMMED),
        _unique("stage"),
        _equal("what a stage was handed went in", "expected_in", "rows_in"),
        _equal("what went in came out", "rows_in", "rows_out"),
        _equal("what was kept is in the table", "kept", "written"),
        Expectation(
            "turns are left after every stage that keeps turns",
            "expect_column_values_to_be_between",
            {"column": "kept", "min_value": 1, "row_condition": "stage != 'curate'", "condition_parser": "pandas"},
        ),
        Expectation(
            "dead letters are few",
            "expect_column_values_to_be_between",
            {"column": "dead_letter_share", "min_value": 0, "max_value": Setting("gates.max_dead_letter_share")},
            "look at the reasons in stages/ingest/dead_letters; is --format right, was the log exported whole? If the "
            "log is like that, raise gates.max_dead_letter_share",
        ),
    ),
)

TURNS: Final = Suite(
    "turns",
    TURN_SAMPLE,
    (
        _rows("turns"),
        _not_null("turn_id"),
        _unique("turn_id"),
        _not_null("subject_id"),
        _not_null("event_time"),
        Expectation(
            "nearly all times are plausible",
            "expect_column_values_to_be_between",
            {
                "column": "event_time",
                "min_value": Setting("gates.earliest"),
                "max_value": Setting("gates.latest"),
                "mostly": Setting("gates.min_plausible_times"),
            },
            "look at event_time in the log: seconds taken for milliseconds, or clocks that were never set? If the "
            "times are right, set gates.earliest and gates.latest",
        ),
        _not_null("utterance_length"),
        _between("utterance_length", 1),
        _one_of("outcome", OUTCOMES),
        _column("what was acted on stands first", "values_to_be_in_set", "executed", value_set=[0]),
        _between("explicit_rating", 0, 1),
        _between("propensity", 0, 1),
    ),
)

SIGNALS: Final = Suite(
    "signals",
    SIGNAL_SAMPLE,
    (
        _rows("signals"),
        _not_null("turn_id"),
        _unique("turn_id"),
        _not_null("subject_id"),
        _not_null("session_id"),
        _between("turns_before", 0),
        _between("turns_after", 0),
        Expectation(
            "no session has a longer pause in it",
            "expect_column_values_to_be_between",
            {"column": "gap_before", "min_value": 0, "max_value": Setting("signals.session_gap")},
        ),
        _between("gap_after", 0),
        _equal("a session has the name of its first turn", "begins", "named_first"),
        _equal("only a session's first turn has no pause before it", "begins", "without_gap"),
        _between("rephrase_best", 0, 1),
        _between("sentiment", -1, 1),
        _between("explicit_rating", 0, 1),
    ),
)

JUDGEMENTS: Final = Suite(
    "judgements",
    JUDGEMENT_SAMPLE,
    (
        _rows("judgements"),
        _not_null("turn_id"),
        _unique("turn_id"),
        _not_null("model_id"),
        _not_null("session_id"),
        _not_null("p_defect"),
        _between("p_defect", 0, 1),
        _not_null("threshold"),
        _between("threshold", 0, 1),
        _equal("a turn is defective from the threshold on", "is_defect", "at_threshold"),
        _equal("a component is blamed for defects alone", "is_defect", "blamed"),
        _equal("what is certified is a defect", "certified", "certified_defect"),
        _not_null("blame"),
        _one_of("blame", BLAMES),
    ),
)

EXAMPLES: Final = Suite(
    "examples",
    EXAMPLE_SAMPLE,
    (
        _rows("examples"),
        _not_null("example_id"),
        _unique("example_id"),
        _not_null("utterance_length"),
        _between("utterance_length", 1),
        Expectation(
            "what is learned is never null",
            "expect_column_values_to_not_be_null",
            {"column": "label_length", "row_condition": "kind != 'rejection'", "condition_parser": "pandas"},
        ),
        _between("label_length", 1),
        _one_of("kind", KINDS),
        _one_of("blame", BLAMES),
        _one_of("split", SPLITS),
        _not_null("confidence"),
        _between("confidence", 0, 1),
        *(_supported(kind) for kind in KINDS),
        _between("agreement", Setting("curate.min_agreement"), 1),
        _not_null("weight"),
        _between("weight", 0),
        Expectation(
            "every user who supports it has a turn in its provenance",
            "expect_column_pair_values_a_to_be_greater_than_b",
            {"column_A": "turns", "column_B": "support", "or_equal": True},
        ),
    ),
)

# Shares of few turns say little: rows of domains that are not `judged` are left out.
_JUDGED: Final = {"row_condition": "judged", "condition_parser": "pandas"}

DOMAINS: Final = Suite(
    "domains",
    DOMAIN_SUMMARY,
    (
        Expectation("it has a domain", "expect_table_row_count_to_be_between", {"min_value": 1}),
        Expectation(
            "the turns of all domains are those that were judged",
            "expect_column_sum_to_be_between",
            {
                "column": "turns",
                "min_value": Setting("rows.judgements_all"),
                "max_value": Setting("rows.judgements_all"),
            },
        ),
        _unique("domain"),
        Expectation(
            "not nearly all turns are defective",
            "expect_column_values_to_be_between",
            {"column": "defect_share", "max_value": Setting("gates.max_defect_share"), **_JUDGED},
            "look at some of its turns: a field that the log lost, or a model that never saw the domain, makes every "
            "turn look defective. If the assistant is that bad there, raise gates.max_defect_share",
            DOMAIN,
        ),
        Expectation(
            "not most turns are corrected",
            "expect_column_values_to_be_between",
            {"column": "correction_share", "max_value": Setting("gates.max_correction_share"), **_JUDGED},
            "look at some of its corrections: an n-best in another order, or another ontology than the one trained "
            "on, makes every reading look wrong. If they are right, raise gates.max_correction_share",
            DOMAIN,
        ),
        _steady("defects are about as many", "defect_shift"),
        _steady("intents are mixed much", "intent_shift"),
        _steady("utterances are about as long", "length_shift"),
    ),
    names_rows_by="domain",
)

VIEWS: Final = Suite(
    "views",
    VIEW_SAMPLE,
    (
        _rows("views"),
        _not_null("row"),
        _unique("row"),
        _between("prompt_length", 1),
        _between("completion_length", 1),
        _column("every row is well formed", "values_to_be_in_set", "well_formed", value_set=[True]),
    ),
)

SUITES: Final = (STAGES, TURNS, SIGNALS, JUDGEMENTS, EXAMPLES, DOMAINS, VIEWS)
