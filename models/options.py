"""Options of training: where labels come from, and the numbers that decide how the models are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Of models over words: a booster's columns are of models that have seen neither its own fold nor the row's.
LEAST_FOLDS: Final = 3
LABEL_SOURCES: Final = ("both", "gold", "weak")

# Where labels come from without gold.
FUNCTIONS: Final = "functions"
WISHES: Final = "wishes"
WORDS: Final = "words"


@dataclass(frozen=True)
class TrainOptions:
    """Numbers that decide how the models are fitted.

    Attributes
    ----------
    folds : int
        Folds of subjects; each turn is judged by a booster that has not seen its subject.
    seed : int
        Seed of the boosters; the same seed and data give the same bytes.
    labels : str
        What the models learn from. `both`: gold where a turn has it, else the labelling functions, among which explicit
        feedback goes first. `gold`: turns with gold alone. `weak`: the functions alone; gold chooses and proves the
        thresholds, and holds the model to account.
    weak_weight : float
        Weight of a row without gold where others have it: ten say as much as one person.
    precision : float
        Wished precision of both decisions, in each domain whose gold allows to prove it.
    least_correct : float
        Least p(correct) of an accepted candidate, whatever its lead.
    certify_share : float
        Latest share of the gold turns, kept out of training to prove the thresholds on.
    weak_threshold : float
        Least p(defect) of a defect where there is too little gold to tell: never certified.
    weak_tau : float
        Least lead of an accepted candidate (its p(correct) less that of the likeliest other one) where there is too
        little gold to tell: never certified.
    weak_from : str
        Labels without gold: `functions` (labelling functions and the interpreter's doubt, `models.weak`), `wishes` (the
        interpreter's scores and how users of this log react, `models.wishes`), or `words` (wishes, and what other
        users' like words were wanted for, `models.wish_words`). Wishes want scores that are close to probabilities and
        a system that acts at once; they find repairs in quite other words. Where a system asks back and confirms,
        functions are far better. What the wishes say is then evidence of both models too.
    correction_rows : int
        At most so many candidates are learned from, all of a turn or none; a turn has several, and more of them cost
        time without telling more.
    words : bool
        Whether the defect model also learns the words of utterance, answer and reaction (`models.words`). They tell
        much where users type or speak freely and people's labels are at hand; what is learned is of this log's
        domains, and the model file then holds weights of hashed words.
    reading : bool
        Whether the correction model also learns what words are usually taken to mean (`models.reading`). It tells much
        where n-best lists are of several systems or without scores; the model file then holds weights of hashed words.
    """

    folds: int = 5
    seed: int = 20210
    labels: str = "both"
    weak_weight: float = 0.1
    precision: float = 0.90
    least_correct: float = 0.6
    certify_share: float = 0.3
    weak_threshold: float = 0.5
    weak_tau: float = 0.2
    correction_rows: int = 30_000
    weak_from: str = FUNCTIONS
    words: bool = False
    reading: bool = False

    @property
    def reads_words(self) -> bool:
        """Whether the words of turns are wanted to train on."""
        return self.words or self.reading or self.weak_from == WORDS
