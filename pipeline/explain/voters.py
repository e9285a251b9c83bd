"""Who else said the same words, what their turns voted for, and what became of each vote."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, mapped, normalise
from pipeline.explain.tables import I64, Place, StageTables
from pipeline.jobs.curate import pool_options
from pipeline.options import CurateOptions
from pipeline.transforms.pool import pool, standing
from pipeline.transforms.voters import VoteOptions, vote_outcomes
from pipeline.transforms.votes import votes
from schemas import EXAMPLE, LABEL_KINDS, VOTE


@dataclass(frozen=True)
class Voters:
    """All turns of some words, in every split and locale.

    Attributes
    ----------
    turns, judgements : pyarrow.Table
        Turn ids and subjects; and the judgements, of the turns that say the words.
    votes : pyarrow.Table
        VOTE rows, sorted by turn_id.
    silent : dict of str to int
        Turns that cast no vote, by why.
    labels : list of dict
        One a split, locale and label: how many support it, and what became of it.
    group : numpy.ndarray of int64
        Of each label: those of one group are pooled against each other.
    label : numpy.ndarray of int64
        Place in `labels` of each vote.
    examples : pyarrow.Table
        EXAMPLE rows of these words.
    """

    turns: pa.Table
    judgements: pa.Table
    votes: pa.Table
    silent: dict[str, int]
    labels: list[dict[str, Any]]
    group: I64
    label: I64
    examples: pa.Table

    def vote_of(self, turn_id: str) -> int | None:
        """Row of a turn's vote; None where it cast none."""
        at = pc.index(self.votes["turn_id"], pa.scalar(turn_id)).as_py()
        return at if at >= 0 else None

    def example_of(self, turn_id: str) -> dict[str, Any] | None:
        """The example that a turn was pooled into."""
        return next((e for e in self.examples.to_pylist() if turn_id in e["provenance"]["turn_ids"]), None)

    def describe(self, turn_id: str) -> dict[str, Any]:
        """Counts of users and turns: of all, and of those that the turn's vote is pooled with (all splits and locales
        where it casts none). Other users are counted, never named.
        """
        at = self.vote_of(turn_id)
        own = None if at is None else int(self.label[at])
        shown = [k for k in range(len(self.labels)) if own is None or self.group[k] == self.group[own]]
        shown.sort(key=lambda k: -self.labels[k]["users"])
        subjects = self.turns["subject_id"].unique()
        voted = pc.sum(pc.is_in(subjects, value_set=self.votes["subject_id"].combine_chunks())).as_py() or 0
        other = self.votes.filter(pa.array(np.isin(self.label, shown) & (self.label != own)))
        same = self.votes.filter(pa.array(self.label == own)) if own is not None else VOTE.empty()
        return {
            "turns": self.turns.num_rows,
            "users": len(subjects),
            "users_without_vote": len(subjects) - voted,
            "turns_without_vote": self.silent,
            "pooled_users": None if own is None else self.labels[own]["pooled_users"],
            "for": None if own is None else self.labels[own]["users"],
            "another": len(other["subject_id"].unique()),
            "agreement": None if own is None else self.labels[own]["agreement"],
            "labels": [self.labels[k] | {"this": k == own} for k in shown],
            "same_label_turns": same["turn_id"].to_pylist(),
        }


def find_voters(
    tables: StageTables, words: str, options: CurateOptions, models: tuple[str, str], voting: VoteOptions
) -> Voters:
    """All turns that say the same normalised words.

    Parameters
    ----------
    tables : StageTables
    words : str
        As `features.text.normalise` gives them; nobody votes for empty ones.
    options : CurateOptions
        What the release was curated with.
    models : tuple of str
        Ids of the defect and the correction model.
    voting : VoteOptions
        What the votes were cast with.
    """
    found, silent = [], Counter[str]()
    for bucket in tables.buckets if words else ():
        rows = saying(tables.utterances(bucket), words)
        if len(rows):
            turns, judgements, cast, quiet = _of_bucket(tables, bucket, rows, voting)
            found.append((turns, judgements, cast))
            silent.update(quiet)
    none = np.zeros(0, np.int64)
    if not found:
        turns = tables.read("turns", tables.buckets[0], none).select(["turn_id", "subject_id"])
        judgements = tables.read("judgements", tables.buckets[0], none)
        return Voters(turns, judgements, VOTE.empty(), {}, [], none, none, EXAMPLE.empty())
    turns, judgements, cast = (pa.concat_tables(part) for part in zip(*found, strict=True))
    if not cast.num_rows:
        return Voters(turns, judgements, cast, dict(silent), [], none, none, EXAMPLE.empty())
    cast, pooled = cast.sort_by("turn_id"), pool_options(options, *models)
    frame, labels = standing(cast, pooled)
    return Voters(
        turns,
        judgements,
        cast,
        dict(silent),
        labels=_labels(cast, frame["label"].to_numpy(np.int64), labels),
        group=labels.groupby(["split", "pool_key"]).ngroup().to_numpy(np.int64),
        label=frame["label"].to_numpy(np.int64),
        examples=pool(cast, pooled)[0],
    )


def _of_bucket(
    tables: StageTables, bucket: int, rows: I64, options: VoteOptions
) -> tuple[pa.Table, pa.Table, pa.Table, dict[str, int]]:
    """Turns, judgements and votes of some rows, and why the others of them cast none."""
    whole = tables.subjects(bucket, rows)
    turns, judgements, corrections = tables.judged(bucket, whole)
    cast, _ = votes(turns, judgements, corrections, options)
    own = np.isin(whole, rows)
    outcomes = vote_outcomes(turns, judgements, corrections, options)[own]
    turns, judgements = turns.filter(pa.array(own)), judgements.filter(pa.array(own))
    cast = cast.filter(pc.is_in(cast["turn_id"], value_set=flat(turns["turn_id"])))
    why = dict(Counter(outcomes[outcomes != "vote"].tolist()))
    return turns.select(["turn_id", "subject_id"]), judgements, cast, why


def outcome_of(tables: StageTables, place: Place, options: VoteOptions) -> str:
    """Why a turn cast no vote, or `vote`: it may hang on its subject's other turns, so they are looked at too."""
    whole = tables.subjects(place.bucket, np.array([place.row]))
    outcomes = vote_outcomes(*tables.judged(place.bucket, whole), options)
    return str(outcomes[np.searchsorted(whole, place.row)])


def saying(utterances: pa.DictionaryArray, words: str) -> I64:
    """Rows whose utterance is `words` once normalised.

    Only texts that may be so are normalised: those that hold the longest of the words, and those that are not ASCII,
    whose letters may have been composed.
    """

    def same(texts: pa.Array) -> pa.Array:
        holds = pc.match_substring(pc.utf8_lower(texts), max(words.split(), key=len))
        near = pc.or_(holds, pc.invert(pc.string_is_ascii(texts)))
        equal = pc.equal(normalise(texts.filter(near)), words)
        return pc.replace_with_mask(near, near, equal)

    return np.flatnonzero(mapped(utterances, same).to_numpy(zero_copy_only=False))


def _labels(cast: pa.Table, number: I64, labels: Any) -> list[dict[str, Any]]:
    """The labels of `standing` for people: the interpretation instead of its hash, and no user."""
    first = np.unique(number, return_index=True)[1]
    held = cast.take(pa.array(first)).select(["kind", "label", "response", "rejected", "locale", "split"]).to_pylist()
    turns = np.bincount(number)
    return [
        {
            "split": row["split"],
            "locale": row["locale"],
            # Votes of one label are all of a kind, but for those of what words mean.
            "kind": "label" if row["kind"] in LABEL_KINDS else row["kind"],
            "label": row["label"],
            "response": row["response"],
            "rejected": row["rejected"],
            "users": int(standing.support),
            "pooled_users": int(standing.users),
            "turns": int(turns[at]),
            "agreement": float(standing.agreement),
            "outcome": str(standing.outcome),
        }
        for at, (row, standing) in enumerate(zip(held, labels.itertuples(), strict=True))
    ]
