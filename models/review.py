"""What reviewers said a turn means: their word settles it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import hex_id
from features.text import flat
from models.design import CandidateTable

Mask = npt.NDArray[np.bool_]

# Gold rows whose source begins so come from people who were shown the turn in order to put it right.
REVIEWER: Final = "reviewer/"
# Share of raters from which on a candidate is called right.
_RIGHT: Final = 0.5


@dataclass(frozen=True)
class Reviews:
    """Turns and the candidate that reviewers call right, one each.

    Attributes
    ----------
    right : dict of str to str
        turn_id to candidate_id.
    """

    right: dict[str, str]

    @staticmethod
    def of(gold: pa.Table) -> Reviews:
        """Reviewers' `right_interpretation` rows of a Gold table.

        A turn whose reviewers call two candidates right equally is not settled; else the candidate that most of them
        call right stands.
        """
        ours = pc.and_(
            pc.equal(gold["definition"], "right_interpretation"), pc.starts_with(gold["source"], pattern=REVIEWER)
        )
        held = gold.filter(pc.and_(ours, gold["candidate_id"].is_valid()))
        frame = held.select(["turn_id", "candidate_id", "value"]).to_pandas()
        mean = frame.groupby(["turn_id", "candidate_id"])["value"].mean().reset_index()
        mean = mean[mean["value"] >= _RIGHT]
        best = mean[mean["value"] == mean.groupby("turn_id")["value"].transform("max")]
        alone = best[~best.duplicated("turn_id", keep=False)]
        return Reviews(dict(zip(alone["turn_id"].tolist(), alone["candidate_id"].tolist(), strict=True)))

    def of_candidates(self, signals: pa.Table, table: CandidateTable) -> Mask:
        """Which candidates reviewers call right, shape (m,)."""
        if not self.right:
            return np.zeros(len(table.turn), bool)
        turns, wanted = list(self.right), np.array([*self.right.values(), ""], dtype=object)
        known = pc.index_in(flat(signals["turn_id"]), value_set=pa.array(turns, pa.string()))
        at = known.fill_null(len(turns)).to_numpy()[table.turn]
        rows = np.flatnonzero(at < len(turns))
        out = np.zeros(len(table.turn), bool)
        out[rows] = np.array(hex_id(table.candidate_id[rows]), dtype=object) == wanted[at[rows]]
        return out
