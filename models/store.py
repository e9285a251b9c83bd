"""Models as files: canonical JSON, so that equal models are equal bytes, named by their SHA-256."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any, Final

from models.boost import FoldModel
from models.calibration import BetaCalibration
from models.certify import Threshold
from models.correction import CorrectionModel
from models.defect import DefectModel
from models.prior import Prior
from models.reading import ReadingModel
from models.training import Models, TrainOptions, canonical

FORMAT: Final = "afterword-models/1"


class ModelFileError(ValueError):
    """A model file is not what was asked for."""


def dumps(models: Models) -> bytes:
    """Both models, their thresholds and options as canonical JSON."""
    return canonical(
        {
            "format": FORMAT,
            "prior": models.prior.plain(),
            "defect": asdict(models.defect),
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
        defect=DefectModel(_folds(held["defect"]), BetaCalibration(**held["defect"]["calibration"])),
        correction=CorrectionModel(
            _folds(held["correction"]),
            BetaCalibration(**held["correction"]["calibration"]),
            _reading(held["correction"]),
        ),
        threshold=Threshold(**held["threshold"]),
        tau=Threshold(**held["tau"]),
        options=TrainOptions(**held["options"]),
        report=held["report"],
    )


def _reading(held: dict[str, Any]) -> ReadingModel | None:
    reading = held.get("reading")
    return None if reading is None else ReadingModel.from_plain(reading)


def _folds(held: dict[str, Any]) -> FoldModel:
    return FoldModel(tuple(held["folds"]["boosters"]), tuple(held["folds"]["names"]))
