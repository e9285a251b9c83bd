"""What a simulation is told: how much traffic, and how its people and its recogniser behave."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Final


class SimulatorError(ValueError):
    """An option of the simulator is wrong, or a package that it needs is missing; the message says what to do."""


# Mean turns of a user and day that leave the busiest users room for pauses between their sessions.
MOST_TURNS_A_DAY: Final = 60
# Turns of a user over the whole log where the number of users is not given: some four sessions a day for a week.
TURNS_A_USER: Final = 60


@dataclass(frozen=True)
class Rates:
    """How often things happen. Shares of 1 unless another unit is named.

    Attributes
    ----------
    misread : float
        First requests whose best interpretation is wrong. A weak assistant: with enough trouble the work is seen.
    misread_in_nbest : float
        Of requests that are misread without a slip of the recogniser, those whose n-best holds the right
        interpretation: what correction can reach.
    misheard : float
        Turns in which the recogniser hears other words than were said (a word error rate near 5% at 5 words).
    fallback_below : float
        Score of the best interpretation below which the system says that it did not understand.
    confirm_below : float
        Score below which it may ask whether it understood.
    confirm : float
        Of the turns below `confirm_below`, those in which it asks.
    confirm_repair : float
        Of requests by which a user sets something right, those after which it asks whether it understood now: once
        bitten, an assistant is careful.
    second_guess : float
        Of denied confirmations, those after which the system offers its second interpretation.
    error : float
        Requests that fail though they were understood (a device cannot be reached).
    rephrase : float
        Of wronged users, those who say it in other words.
    repeat : float
        Of wronged users, those who say the same again.
    correct : float
        Of wronged users, those who say what they meant ("no I meant ...").
    deny : float
        Of wronged users, those who only say that it is wrong.
    cancel : float
        Of wronged users, those who call it off aloud.
    human : float
        Of wronged users, those who ask for a person. What is left of the wronged stays silent: they go on to another
        wish or leave.
    rephrase_right : float
        Of users served right, those who say it differently all the same: noise of the signal.
    again : float
        Of users served right, those who give the same command again for a good reason (the next song).
    refine : float
        Of users served right, those who want another value of the same intent: looks like a correction, is none.
    thank : float
        Of users served right, those who say thanks.
    next_goal : float
        Of users served right, those who go on to another wish at once; the others leave.
    barge_in : float
        Of reactions to a wrong answer, those that cut it short.
    barge_in_right : float
        Of turns after a right answer, those that cut it short: people who know the answer by heart.
    rated : float
        Turns that the user rates; one rating in ten is a slip.
    no_consent : float
        Users whose turns may not be used for learning.
    """

    misread: float = 0.18
    misread_in_nbest: float = 0.5
    misheard: float = 0.10
    fallback_below: float = 0.15
    confirm_below: float = 0.45
    confirm: float = 0.35
    confirm_repair: float = 0.6
    second_guess: float = 0.35
    error: float = 0.005
    rephrase: float = 0.4
    repeat: float = 0.08
    correct: float = 0.13
    deny: float = 0.12
    cancel: float = 0.06
    human: float = 0.01
    rephrase_right: float = 0.015
    again: float = 0.03
    refine: float = 0.05
    thank: float = 0.06
    next_goal: float = 0.38
    barge_in: float = 0.3
    barge_in_right: float = 0.03
    rated: float = 0.004
    no_consent: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what is no share, or shares of one whole that exceed it."""
        for name, value in dataclasses.asdict(self).items():
            if not 0.0 <= value <= 1.0:
                raise SimulatorError(f"--rate {name}={value}: a share from 0 to 1 is wanted")
        for whole in (_WRONGED, _SERVED):
            total = sum(getattr(self, name) for name in whole)
            if total > 1.0:
                raise SimulatorError(f"--rate: {' + '.join(whole)} is {total:.2f}; at most 1 is wanted")


_WRONGED: Final = ("rephrase", "repeat", "correct", "deny", "cancel", "human")
_SERVED: Final = ("rephrase_right", "again", "refine", "thank", "next_goal")


@dataclass(frozen=True)
class SimulateOptions:
    """How much traffic, and in which form.

    Attributes
    ----------
    turns : int
        Turns of the log, exactly.
    users : int or None
        Distinct users; None follows from the turns.
    days : int
        Days that the log covers, from `START` on.
    seed : int
        The same seed and options give the same bytes.
    files : int
        At least so many files of the log; more where a file would hold more than `block_turns`.
    form : str
        `jsonl` (packed with gzip) or `parquet`.
    wishes : int
        Distinct wishes of the phrase book: what the users may want.
    block_turns : int
        Most turns of a file. What is held in memory at once does not depend on `turns`.
    rates : Rates
        How often things happen.
    """

    turns: int = 24_000
    users: int | None = None
    days: int = 7
    seed: int = 7
    files: int = 1
    form: str = "jsonl"
    wishes: int = 3_000
    block_turns: int = 100_000
    rates: Rates = field(default_factory=Rates)

    def __post_init__(self) -> None:
        """Refuse what cannot be made."""
        for name in ("turns", "days", "files", "wishes", "block_turns"):
            if getattr(self, name) < 1:
                raise SimulatorError(f"--{name} {getattr(self, name)}: a number from 1 on is wanted")
        if self.seed < 0 or (self.users is not None and self.users < 1):
            raise SimulatorError("--seed from 0 on and --users from 1 on are wanted")
        if self.form not in FORMS:
            raise SimulatorError(f"--form {self.form}: one of {', '.join(FORMS)} is wanted")
        least = -(-self.turns // (self.days * MOST_TURNS_A_DAY))
        if self.population < least:
            raise SimulatorError(
                f"--users {self.users}: {self.turns:,} turns in {self.days} days need at least {least:,} users"
            )

    @property
    def population(self) -> int:
        """Users: as given, else as many as the turns need."""
        return self.users if self.users is not None else max(1, self.turns // TURNS_A_USER)


FORMS: Final = ("jsonl", "parquet")


def rates(settings: list[str]) -> Rates:
    """Rates from `name=value` texts.

    Raises
    ------
    SimulatorError
        If a name is no rate, or a value no share.
    """
    values: dict[str, Any] = {}
    known = [f.name for f in dataclasses.fields(Rates)]
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in known:
            raise SimulatorError(f"--rate {setting}: NAME=VALUE is wanted; names: {', '.join(known)}")
        try:
            values[name] = float(value)
        except ValueError:
            raise SimulatorError(f"--rate {setting}: {value!r} is no number") from None
    return Rates(**values)
