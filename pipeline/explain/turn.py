"""One turn: its dialog, its judgement, what was considered in its place, and what became of it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from features.text import normalise
from pipeline.config import CurateOptions
from pipeline.errors import StageError
from pipeline.explain.reasons import fired, moved
from pipeline.explain.release import Release
from pipeline.explain.tables import I64, Place, StageTables
from pipeline.explain.voters import Voters, find_voters, outcome_of
from pipeline.jobs.curate import vote_options

# Turns shown on either side: what was asked, what went wrong, and the repair lie within three as a rule.
WINDOW: Final = 3
_SHOWN: Final = (
    "turn_id",
    "subject_id",
    "event_time",
    "locale",
    "channel",
    "policy",
    "utterance",
    "prompt",
    "response",
    "outcome",
    "explicit_rating",
    "source",
)


def explain_turn(tables: StageTables, release: Release, place: Place, voters: Voters | None = None) -> dict[str, Any]:
    """All that is known of a turn, as JSON holds it.

    Parameters
    ----------
    tables : StageTables
        Of the run that made the release.
    release : Release
    place : Place
    voters : Voters, optional
        Those of its words, where they are known already.
    """
    rows = tables.session(place)
    judgements = tables.read("judgements", place.bucket, rows)
    at = int(np.flatnonzero(rows == place.row)[0])
    own = tables.judged(place.bucket, np.array([place.row]))
    turn, judgement = (table.to_pylist()[0] for table in own[:2])
    defective = dict(zip(judgements["turn_id"].to_pylist(), judgements["is_defect"].to_pylist(), strict=True))
    candidates = _candidates(own[2].to_pylist(), defective, release)
    support = _supporting(candidates)
    voters = voters or voters_of(tables, release, turn["utterance"])
    return {
        "turn": {name: turn[name] for name in _SHOWN} | {"domain": judgement["domain"]},
        "session": {"id": judgement["session_id"], "turns": len(rows), "at": at + 1},
        "dialog": _dialog(tables, place.bucket, rows, judgements, at, support),
        "judgement": _judgement(tables, place, judgement),
        "candidates": candidates,
        "support": support,
        "same_words": voters.describe(turn["turn_id"]),
        "became": _became(tables, release, place, turn["turn_id"], voters),
    }


def voters_of(tables: StageTables, release: Release, utterance: str) -> Voters:
    """All turns that say the words of an utterance."""
    models = release.manifest["identity"]["models"]
    words = normalise(pa.array([utterance]))[0].as_py()
    return find_voters(tables, words, curate_options(release), (models["defect"], models["correction"]))


def curate_options(release: Release) -> CurateOptions:
    """What the release was curated with.

    Raises
    ------
    StageError
        If it was made by code whose options are not these.
    """
    try:
        return CurateOptions(**release.manifest["identity"]["config"]["curate"])
    except TypeError as error:
        code = release.manifest["identity"]["code"]
        raise StageError(
            f"{release.folder}: curated with options of other code ({error}); explain with {code}"
        ) from None


def _dialog(
    tables: StageTables, bucket: int, rows: I64, judgements: pa.Table, at: int, support: list[str]
) -> list[dict[str, Any]]:
    """The turns around, and the supporting ones wherever they stand; times are told from the turn explained."""
    ids = judgements["turn_id"].to_pylist()
    shown = [k for k, name in enumerate(ids) if abs(k - at) <= WINDOW or name in support]
    turns = tables.read("turns", bucket, rows[shown]).to_pylist()
    begun = turns[shown.index(at)]["event_time"]
    return [
        {
            "turn_id": turn["turn_id"],
            "number": number + 1,
            "seconds": round((turn["event_time"] - begun).total_seconds(), 3),
            "prompt": turn["prompt"],
            "utterance": turn["utterance"],
            "reading": next(iter(turn["interpretations"] or []), None),
            "response": turn["response"],
            "p_defect": judgement["p_defect"],
            "is_defect": judgement["is_defect"],
            "is_this": number == at,
            "supports": turn["turn_id"] in support,
        }
        for number, turn, judgement in zip(shown, turns, judgements.take(shown).to_pylist(), strict=True)
    ]


def _judgement(tables: StageTables, place: Place, row: dict[str, Any]) -> dict[str, Any]:
    held = ("model_id", "p_defect", "threshold", "is_defect", "certified", "blame")
    return {name: row[name] for name in held} | {
        "signals": moved(tables, place, row["reasons"] or []),
        "fired": fired(tables, place),
    }


def _candidates(rows: list[dict[str, Any]], defective: dict[str, bool], release: Release) -> list[dict[str, Any]]:
    """The candidates, likeliest first, each with what it failed; see `models.correction.eligible`."""
    tau = release.manifest["thresholds"]["correction"]["value"]
    margin = release.manifest["identity"]["config"]["train"]["margin"]
    held = ("interpretation", "source", "p_correct", "margin", "accepted", "certified", "supporting_turns")
    ordered = sorted(rows, key=lambda row: -row["p_correct"])
    best = next((row["p_correct"] for row in ordered), 0.0)
    out = []
    for row in ordered:
        support = row["supporting_turns"] or []
        failed = {
            "another candidate is likelier": row["p_correct"] < best,
            f"p(correct) is under tau {tau:.3f}": row["p_correct"] < tau,
            f"its lead over every other reading is under {margin:.2f}": row["margin"] < margin,
            "the turn that supports it is judged defective itself": any(defective.get(t) for t in support),
        }
        why = [] if row["accepted"] else [name for name, holds in failed.items() if holds]
        out.append({name: row[name] for name in held} | {"supporting_turns": support, "failed": why})
    return out


def _supporting(candidates: list[dict[str, Any]]) -> list[str]:
    """Later turns that support what was accepted, else any candidate."""
    accepted = [c for c in candidates if c["accepted"]] or candidates
    return sorted({turn for c in accepted for turn in c["supporting_turns"]})


def _became(tables: StageTables, release: Release, place: Place, turn_id: str, voters: Voters) -> dict[str, Any]:
    """The outcome of stage curate for this turn, and the example that it went into."""
    at = voters.vote_of(turn_id)
    if at is None:
        outcome = outcome_of(tables, place, vote_options(curate_options(release)))
        return {"outcome": outcome, "vote": None, "example": None, "places": []}
    vote = voters.votes.slice(at, 1).to_pylist()[0]
    example = voters.example_of(turn_id)
    outcome = voters.labels[int(voters.label[at])]["outcome"]
    if example is not None and typical(voters, example) != turn_id:
        outcome = "de_duplicated"
    return {
        "outcome": outcome,
        "vote": {name: vote[name] for name in ("kind", "label", "split", "locale", "probability", "certified")},
        "example": example,
        "places": release.places(example) if example is not None else [],
    }


def typical(voters: Voters, example: dict[str, Any]) -> str:
    """The turn whose wording an example has: of those with it, the first by id."""
    behind = set(example["provenance"]["turn_ids"])
    pairs = zip(voters.votes["turn_id"].to_pylist(), voters.votes["utterance"].to_pylist(), strict=True)
    return str(min(pairs, key=lambda pair: (pair[0] not in behind, pair[1] != example["utterance"], pair[0]))[0])
