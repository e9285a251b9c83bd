"""Models as files: canonical JSON, so that equal models are equal bytes, named by their SHA-256."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any, Final

from models.boost import FoldModel
from models.calibration import BetaCalibration
from models.certify import Threshold
from models.chain import Chain
from models.correction import CorrectionModel
from models.defect import DefectModel
from models.fitted import Models, canonical
from models.options import TrainOptions
from models.prior import Prior
from models.reading import ReadingModel
from models.thresholds import Thresholds
from models.verdicts import Verdicts
from models.wishes import Wishes
from models.words import WordsModel

FORMAT: Final = "afterword-models/3"


class ModelFileError(ValueError):
    """A model file is not what was asked for."""


def dumps(models: Models) -> bytes:
    """Both models, their thresholds and options as canonical JSON."""
    return canonical(
        {
            "format": FORMAT,
            "prior": models.prior.plain(),
            "chain": models.chain.plain() if models.chain else None,
            "wishes": models.wishes.plain() if models.wishes else None,
            "defect": models.defect.plain(),
            "correction": models.correction.plain(),
            "threshold": asdict(models.threshold),
            "tau": asdict(models.tau),
            "options": asdict(models.options),
            "report": models.report,
        }
    )


def loads(data: bytes, sha256: str | None = None) -> Models:
    """Read a model file.

    Parameters
    ----------
    data : bytes
    sha256 : str, optional
        Wanted hash of the bytes.

    Raises
    ------
    ModelFileError
        If the hash differs or the bytes are not a model file of this version.
    """
    found = hashlib.sha256(data).hexdigest()
    if sha256 is not None and found != sha256:
        raise ModelFileError(f"model file has SHA-256 {found}, wanted {sha256}; run `afterword train` again")
    try:
        held = json.loads(data)
    except ValueError as error:
        raise ModelFileError(f"not a model file: {error}; run `afterword train` again") from None
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ModelFileError(f"not a model file of format {FORMAT}; run `afterword train` again")
    return Models(
        prior=Prior.from_plain(held["prior"]),
        defect=DefectModel(
            _folds(held["defect"]), BetaCalibration(**held["defect"]["calibration"]), _words(held["defect"])
        ),
        correction=CorrectionModel(
            _folds(held["correction"]),
            BetaCalibration(**held["correction"]["calibration"]),
            _reading(held["correction"]),
            _verdicts(held["correction"]),
        ),
        threshold=_thresholds(held["threshold"]),
        tau=_thresholds(held["tau"]),
        options=TrainOptions(**held["options"]),
        report=held["report"],
        chain=Chain.from_plain(held["chain"]) if held.get("chain") else None,
        wishes=Wishes.from_plain(held["wishes"]) if held.get("wishes") else None,
    )


def _words(held: dict[str, Any]) -> WordsModel | None:
    words = held.get("words")
    return None if words is None else WordsModel.from_plain(words)


def _reading(held: dict[str, Any]) -> ReadingModel | None:
    reading = held.get("reading")
    return None if reading is None else ReadingModel.from_plain(reading)


def _verdicts(held: dict[str, Any]) -> Verdicts | None:
    verdicts = held.get("verdicts")
    return None if verdicts is None else Verdicts.from_plain(verdicts)


def _folds(held: dict[str, Any]) -> FoldModel:
    return FoldModel(tuple(held["folds"]["boosters"]), tuple(held["folds"]["names"]))


def _thresholds(held: dict[str, Any]) -> Thresholds:
    return Thresholds(Threshold(**held["pooled"]), {d: Threshold(**t) for d, t in held["domains"].items()})
