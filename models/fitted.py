"""The fitted models with all that a judgement needs, and their names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from models.chain import Chain
from models.correction import CorrectionModel
from models.defect import DefectModel
from models.options import TrainOptions
from models.prior import Prior
from models.thresholds import Thresholds
from models.wishes import Wishes


@dataclass(frozen=True)
class Models:
    """Everything that a judgement needs."""

    prior: Prior
    defect: DefectModel
    correction: CorrectionModel
    threshold: Thresholds
    tau: Thresholds
    options: TrainOptions
    report: dict[str, Any]
    chain: Chain | None = None
    wishes: Wishes | None = None

    @property
    def reads_words(self) -> bool:
        """Whether the words of a turn are wanted to judge it."""
        return self.defect.words is not None or self.correction.reading is not None or self.hears_wishes

    @property
    def hears_wishes(self) -> bool:
        """Whether wishes are told by the words too (`models.wish_words`)."""
        return self.wishes is not None and self.wishes.words is not None

    @cached_property
    def defect_id(self) -> str:
        """SHA-256 of all that a judgement follows from."""
        return _digest(self._of_defect)

    @cached_property
    def correction_id(self) -> str:
        """SHA-256 of all that a correction follows from, the defect model among it."""
        rule = {"tau": asdict(self.tau), "least_correct": self.options.least_correct}
        return _digest(self._of_defect | {"correction": self.correction.plain()} | rule)

    @property
    def _of_defect(self) -> dict[str, object]:
        chain = self.chain.plain() if self.chain else None
        return {
            "prior": self.prior.plain(),
            "chain": chain,
            "wishes": self.wishes.plain() if self.wishes else None,
            "defect": self.defect.plain(),
            "threshold": asdict(self.threshold),
        }


def _digest(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no spaces: equal values are equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
