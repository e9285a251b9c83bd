"""What became of a turn: its vote, the example that it went into, and whether that was released."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.release import Release
from pipeline.explain.tables import Place, StageTables
from pipeline.explain.voters import Voters, outcome_of
from pipeline.transforms.voters import VoteOptions
from schemas import LEFT_OUT

_VOTE: Final = ("kind", "label", "response", "rejected", "split", "locale", "probability", "certified")
_NOTHING: Final = {
    "vote": None,
    "example": None,
    "places": [],
    "left_out": None,
    "quarantine": None,
    "carried": None,
}


def became(
    tables: StageTables, release: Release, place: Place, turn_id: str, voters: Voters, options: VoteOptions
) -> dict[str, Any]:
    """The outcome of a turn, as stages curate and release count it, and the example that it went into.

    Parameters
    ----------
    tables : StageTables
    release : Release
    place : Place
        The turn's.
    turn_id : str
    voters : Voters
        Those of its words.
    options : VoteOptions

    Returns
    -------
    dict
        `outcome, vote, example, places, left_out, quarantine, carried`. Where curation left the example out it has no
        places, and `left_out` says why. Where the example's domain is quarantined the turn's example is withheld: it
        has no places, and `carried` is the example of the same id that stands for it, if any.
    """
    at = voters.vote_of(turn_id)
    if at is None:
        return {"outcome": outcome_of(tables, place, options), **_NOTHING}
    vote = voters.votes.slice(at, 1).to_pylist()[0]
    told = {name: vote[name] for name in _VOTE} | {"context": [turn["turn_id"] for turn in vote["context"] or []]}
    example = voters.example_of(turn_id)
    if example is None:
        return {"outcome": voters.labels[int(voters.label[at])]["outcome"], **_NOTHING, "vote": told}
    left = release.left_out(example["example_id"])
    if left is not None:
        shown = {name: left[name] for name in LEFT_OUT.names if name != "provenance"}
        return {"outcome": left["reason"], **_NOTHING, "vote": told, "example": example, "left_out": shown}
    outcome = "kept" if typical(voters, example) == turn_id else "de_duplicated"
    quarantine = release.quarantine_of(example)
    if quarantine is None:
        return {"outcome": outcome, **_NOTHING, "vote": told, "example": example, "places": release.places(example)}
    stands = release.find(example["example_id"])
    return {
        "outcome": "quarantined",
        **_NOTHING,
        "vote": told,
        "example": example,
        "quarantine": quarantine,
        "carried": stands["example_id"] if stands else None,
    }


def typical(voters: Voters, example: dict[str, Any]) -> str:
    """The turn whose wording an example has: of those with it, the first by id."""
    behind = set(example["provenance"]["turn_ids"])
    pairs = zip(voters.votes["turn_id"].to_pylist(), voters.votes["utterance"].to_pylist(), strict=True)
    return str(min(pairs, key=lambda pair: (pair[0] not in behind, pair[1] != example["utterance"], pair[0]))[0])


def labels(release: Release, told: dict[str, Any], left_out: dict[str, Any] | None) -> dict[str, Any]:
    """`Voters.describe` with the labels that quarantine kept out of the release, and the turn's own if curation did."""

    def label(held: dict[str, Any]) -> dict[str, Any]:
        if left_out is not None and held["this"]:
            return held | {"outcome": left_out["reason"]}
        withheld = held["outcome"] == "kept" and release.quarantine_by((held["label"] or {}).get("domain")) is not None
        return held | {"outcome": "quarantined"} if withheld else held

    return told | {"labels": [label(held) for held in told["labels"]]}
