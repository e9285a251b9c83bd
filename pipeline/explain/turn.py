"""One turn: its dialog, its judgement, what was considered in its place, and what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from features.signals import SignalOptions
from features.text import normalise
from pipeline import storage
from pipeline.curation.conversations import read_shared
from pipeline.errors import StageError
from pipeline.explain import fate
from pipeline.explain.meant import candidates, pointed_at
from pipeline.explain.reasons import fired, moved
from pipeline.explain.release import Release
from pipeline.explain.tables import I64, Place, StageTables
from pipeline.explain.voters import Voters, find_voters
from pipeline.jobs.beside import ontology_of
from pipeline.jobs.curate import shared_path, vote_options
from pipeline.options import CurateOptions
from pipeline.transforms.voters import VoteOptions

# Turns shown around: the one that it came after, and those in which the repair lies as a rule.
BEFORE: Final = 1
AFTER: Final = 3
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
    ids = judgements["turn_id"].to_pylist()
    defective = dict(zip(ids, judgements["is_defect"].to_pylist(), strict=True))
    signals = tables.read("signals", place.bucket, np.array([place.row]))
    meant = candidates(own[2], signals, ids[at:], defective, release)
    voters = voters or voters_of(tables, release, turn["utterance"])
    became = fate.became(tables, release, place, turn["turn_id"], voters, voting(tables, release))
    marks = {
        "supports": pointed_at(meant, "supporting_turns"),
        "gives": pointed_at(meant, "taken_from"),
        "in_context": became["vote"]["context"] if became["vote"] else [],
    }
    return {
        "turn": {name: turn[name] for name in _SHOWN} | {"domain": judgement["domain"]},
        "session": {"id": judgement["session_id"], "turns": len(rows), "at": at + 1},
        "dialog": _dialog(tables, place.bucket, rows, judgements, at, marks),
        "judgement": _judgement(tables, place, judgement),
        "candidates": meant,
        "support": marks["supports"],
        "same_words": fate.labels(release, voters.describe(turn["turn_id"]), became["left_out"]),
        "became": became,
    }


def voters_of(tables: StageTables, release: Release, utterance: str) -> Voters:
    """All turns that say the words of an utterance."""
    models = release.manifest["identity"]["models"]
    words = normalise(pa.array([utterance]))[0].as_py()
    return find_voters(
        tables, words, curate_options(release), (models["defect"], models["correction"]), voting(tables, release)
    )


def voting(tables: StageTables, release: Release) -> VoteOptions:
    """What the votes behind the release were cast with."""
    signals = SignalOptions(**release.manifest["identity"]["config"]["signals"])
    options = vote_options(curate_options(release), signals, ontology_of(tables.workspace))
    path = shared_path(tables.workspace)
    return replace(options, shared=read_shared(path)) if storage.exists(path) else options


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
    tables: StageTables, bucket: int, rows: I64, judgements: pa.Table, at: int, marks: dict[str, list[str]]
) -> list[dict[str, Any]]:
    """The turns around, and those that are marked wherever they stand; times are told from the turn explained."""
    ids = judgements["turn_id"].to_pylist()
    marked = {name for names in marks.values() for name in names}
    shown = [k for k, name in enumerate(ids) if -BEFORE <= k - at <= AFTER or name in marked]
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
            **{mark: turn["turn_id"] in names for mark, names in marks.items()},
        }
        for number, turn, judgement in zip(shown, turns, judgements.take(shown).to_pylist(), strict=True)
    ]


def _judgement(tables: StageTables, place: Place, row: dict[str, Any]) -> dict[str, Any]:
    held = ("model_id", "domain", "p_defect", "threshold", "threshold_basis", "is_defect", "certified", "blame")
    return {name: row[name] for name in held} | {
        "signals": moved(tables, place, row["reasons"] or []),
        "fired": fired(tables, place),
    }
