"""One example: what it is, the turns behind it as counts, and one typical turn in full."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.explain.fate import typical
from pipeline.explain.release import Release
from pipeline.explain.tables import StageTables
from pipeline.explain.turn import curate_options, explain_turn, voters_of
from pipeline.explain.voters import Voters
from schemas import LABEL_KINDS, LEAST_USERS


def explain_example(tables: StageTables, release: Release, example: dict[str, Any]) -> dict[str, Any]:
    """All that is known of an example, as JSON holds it."""
    voters = voters_of(tables, release, example["utterance"])
    behind = pa.array(example["provenance"]["turn_ids"], pa.string())
    cast = voters.votes.filter(pc.is_in(voters.votes["turn_id"], value_set=behind))
    return {
        **of_release(release, example),
        "turns": _turns(voters, cast, behind),
        "typical": _typical(tables, release, example, voters) if cast.num_rows else None,
    }


def _typical(tables: StageTables, release: Release, example: dict[str, Any], voters: Voters) -> dict[str, Any] | None:
    """One turn in full. Who said it is nobody's question here."""
    place = tables.find(typical(voters, example))
    if place is None:
        return None
    told = explain_turn(tables, release, place, voters)
    return told | {"turn": told["turn"] | {"subject_id": None}}


def of_release(release: Release, example: dict[str, Any]) -> dict[str, Any]:
    """What the release alone tells of an example: itself with what was asked of it, and where it stands."""
    options = curate_options(release)
    needs = {"min_users": options.min_users, "min_agreement": options.min_agreement}
    if example["kind"] not in LABEL_KINDS:
        name = LEAST_USERS[example["kind"]]
        needs = {name: getattr(options, name)}
    return {
        "example": example | {"needs": needs},
        # No new example of a quarantined domain is released, so this one was carried over.
        "quarantine": release.quarantine_of(example),
        "places": release.places(example),
    }


def _turns(voters: Voters, cast: pa.Table, behind: pa.Array) -> dict[str, Any]:
    """The turns behind an example as counts."""
    judged = voters.judgements.filter(pc.is_in(voters.judgements["turn_id"], value_set=behind))
    strongest = [reasons[0]["signal"] for reasons in judged["reasons"].to_pylist() if reasons]
    p_defect, times = pc.min_max(judged["p_defect"]).as_py(), pc.min_max(judged["event_time"]).as_py()
    return {
        "count": len(behind),
        "found": cast.num_rows,
        "users": len(cast["subject_id"].unique()),
        "kinds": _count(cast["kind"].to_pylist()),
        "defective": pc.sum(judged["is_defect"]).as_py() or 0,
        "blames": _count(judged.filter(judged["is_defect"])["blame"].to_pylist()),
        "strongest_signal": _count(strongest),
        "p_defect": [p_defect["min"], p_defect["max"]],
        "event_time": [times["min"], times["max"]],
    }


def _count(values: list[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))
