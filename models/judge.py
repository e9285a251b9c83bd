"""Judge turns with fitted models: Judgement and Correction rows."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import hex_id, list_offsets
from features.projection import projections
from features.said import said
from features.text import flat
from models.blame import blame
from models.chain import Chain
from models.correction import DECIMALS, Choice, best_alternative, eligible, highest_other, rounded
from models.design import (
    EVIDENCE,
    OF_CHAIN,
    CandidateTable,
    Design,
    candidate_design,
    candidate_table,
    frames,
    turn_design,
)
from models.fitted import Models
from models.folds import subject_folds
from models.reading import words
from models.review import Reviews
from models.thresholds import Limits
from models.verdicts import Judged
from models.wish_words import word_grams
from models.wishes import Heard, with_wishes
from schemas import CORRECTION, INTERPRETATION, JUDGEMENT
from schemas.judgement import REASON
from schemas.turn import SLOT

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Columns of a turn that judging it reads; the others need not be read.
TURN_READS: Final = ("utterance", "interpretations")
# Reasons kept a turn.
REASONS: Final = 3


def judge(
    turns: pa.Table, signals: pa.Table, models: Models, reviews: Reviews | None = None
) -> tuple[pa.Table, pa.Table]:
    """Judge the turns of whole sessions.

    Parameters
    ----------
    turns, signals : pyarrow.Table
        Turn and Signals rows of the same turns in the same (total) order; of the turns at least `TURN_READS`, and
        `features.said.READS` by models with words.
    models : Models
    reviews : Reviews, optional
        What reviewers called right: accepted where it is another candidate than the best, and no other is.

    Returns
    -------
    judgements : pyarrow.Table
        One row a turn, in order.
    corrections : pyarrow.Table
        One row an alternative candidate of each turn judged defective, or put right by a reviewer.
    """
    fold = subject_folds(signals["subject_id"], models.options.folds)
    rows = _said(turns, signals, models)
    table = _candidates(signals, models, fold, rows)
    design = turn_design(signals, table)
    seen = models.defect.seen(design, rows, fold)
    p_defect = rounded(models.defect.predict(seen, fold))
    limits = models.threshold.look_up(signals["domain"])
    is_defect = p_defect >= limits.value
    reviewed = (reviews or Reviews({})).of_candidates(signals, table)
    put_right = np.zeros(signals.num_rows, bool)
    put_right[table.turn[reviewed & ~table.is_top]] = True
    # Only a defective turn is asked what was meant.
    asked = np.flatnonzero((is_defect | put_right)[table.turn])
    table, reviewed = table.take(asked), reviewed[asked]
    candidates = _with_columns(candidate_design(signals, table, design), turns, signals, table, models, fold)
    p_correct = rounded(models.correction.predict(candidates, fold[table.turn]))
    p_correct = _as_reviewed(table, p_correct, reviewed, signals.num_rows)
    choice = best_alternative(table, p_correct, signals.num_rows)
    blamed = blame(signals, table, choice, is_defect, models.chain)
    reasons = _reasons(models, seen, fold, is_defect)
    judgements = _judgements(signals, models.defect_id, p_defect, limits, blamed, reasons)
    return judgements, _corrections(turns, signals, models, table, p_correct, is_defect, choice, reviewed)


def _as_reviewed(table: CandidateTable, p_correct: F64, reviewed: Mask, turns: int) -> F64:
    """p(correct) where reviewers settled a turn: 1 for what they call right, 0 for its other candidates."""
    settled = np.zeros(turns, bool)
    settled[table.turn[reviewed]] = True
    return np.where(settled[table.turn], reviewed.astype(np.float64), p_correct)


def _said(turns: pa.Table, signals: pa.Table, models: Models) -> pa.Table | None:
    """The words about the turns, where the defect model or the wishes read them; readings take their own."""
    wanted = models.defect.words is not None or models.hears_wishes
    return said(turns, signals) if wanted else None


def _candidates(signals: pa.Table, models: Models, fold: I64, rows: pa.Table | None) -> CandidateTable:
    """The candidates as the models were trained to see them."""
    heard = None
    if rows is not None and models.hears_wishes:
        heard = Heard(word_grams(rows["utterance"]), fold, models.options.folds)
    table = candidate_table(signals, models.prior, fold, models.chain)
    return with_wishes(signals, table, models.wishes, heard)


def _with_columns(
    design: Design, turns: pa.Table, signals: pa.Table, table: CandidateTable, models: Models, fold: I64
) -> Design:
    """The candidates' columns with those of readings and of verdicts, where the model was trained with them."""
    reading, verdicts = models.correction.reading, models.correction.verdicts
    of_turn = fold[table.turn]
    if reading is not None:
        asked = np.zeros(signals.num_rows, bool)
        asked[table.turn] = True
        held = words(pc.if_else(pa.array(asked), flat(turns["utterance"]), None))
        design = design.beside(reading.columns(held, frames(signals, table), table, of_turn))
    if verdicts is not None:
        design = design.beside(verdicts.columns(Judged.of(signals, table), of_turn))
    return design


def contributions(turns: pa.Table, signals: pa.Table, models: Models) -> tuple[Design, F64]:
    """What the defect model sees of turns, and what each feature adds to their log-odds before calibration.

    Parameters
    ----------
    turns, signals : pyarrow.Table
        Rows of the same n turns, as for `judge`.
    models : Models

    Returns
    -------
    design : Design
        n rows.
    contribution : numpy.ndarray, shape (n, features)
        Of each turn by the booster that has not seen its subject; `judgement.reasons` holds the highest of them.
    """
    fold = subject_folds(signals["subject_id"], models.options.folds)
    rows = _said(turns, signals, models)
    table = _candidates(signals, models, fold, rows)
    design = models.defect.seen(turn_design(signals, table), rows, fold)
    return design, models.defect.folds.contributions(design, fold)


def _judgements(
    signals: pa.Table, model_id: str, p_defect: F64, limits: Limits, blamed: npt.NDArray[np.object_], reasons: pa.Array
) -> pa.Table:
    n = signals.num_rows
    return JUDGEMENT.conform(
        pa.table(
            {
                "turn_id": signals["turn_id"],
                "model_id": pa.repeat(model_id, n),
                "subject_id": signals["subject_id"],
                "session_id": signals["session_id"],
                "event_time": signals["event_time"],
                "domain": signals["domain"],
                "p_defect": p_defect,
                "threshold": limits.value,
                "threshold_basis": limits.basis,
                "is_defect": p_defect >= limits.value,
                "certified": limits.certifies(p_defect),
                "blame": pa.array(blamed, pa.string()),
                "reasons": reasons,
            }
        )
    )


def _reasons(models: Models, design: Design, fold: I64, is_defect: Mask) -> pa.Array:
    """The signals that raised each defect's score most; an empty list for other turns."""
    rows = np.flatnonzero(is_defect)
    counts = np.zeros(len(is_defect), np.int32)
    names: list[str] = []
    values = np.zeros(0)
    if len(rows):
        few = Design(design.values[rows], design.names)
        contribution = models.defect.folds.contributions(few, fold[rows])
        order = _highest(contribution, REASONS)
        values = np.round(np.take_along_axis(contribution, order, axis=1), DECIMALS).ravel()
        keep = values > 0
        counts[rows] = keep.reshape(len(rows), -1).sum(axis=1)
        names = np.array(design.names, dtype=object)[order.ravel()][keep].tolist()
        values = values[keep]
    structs = pa.StructArray.from_arrays([pa.array(names, pa.string()), pa.array(values)], fields=list(REASON))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)


def _highest(values: F64, count: int) -> I64:
    """Columns of each row's highest values, highest first, the first of equal ones first, shape (n, count)."""
    left, rows = values.copy(), np.arange(len(values))
    out = np.empty((len(values), count), np.int64)
    for k in range(count):
        out[:, k] = left.argmax(axis=1)
        left[rows, out[:, k]] = -np.inf
    return out


def _sources(table: CandidateTable, rows: I64, reviewed: Mask) -> pa.Array:
    """Where each candidate comes from. The strongest word for it counts: a reviewer's, then the user's own later
    confirmation of its values, then what gave it.
    """
    affirmed = table.evidence[rows, EVIDENCE.index("affirmed_after")] > 0
    offset = table.offset[rows]
    names = np.select(
        [reviewed[rows], affirmed, offset == OF_CHAIN, offset > 0],
        ["reviewer", "confirmed", "chain", "rephrase"],
        "n-best",
    )
    return pa.array(names.astype(object), pa.string())


def _corrections(
    turns: pa.Table,
    signals: pa.Table,
    models: Models,
    table: CandidateTable,
    p_correct: F64,
    is_defect: Mask,
    choice: Choice,
    reviewed: Mask,
) -> pa.Table:
    limits = models.tau.look_up(signals["domain"])
    accepted = eligible(table, choice, is_defect, models.options.least_correct) & (choice.margin >= limits.value)
    # The last entry stands for turns without an alternative, whose row is -1.
    accepted |= np.append(reviewed, False)[choice.row]
    rows = np.flatnonzero(~table.is_top)
    turn = table.turn[rows]
    chosen = choice.row[turn] == rows
    lead = highest_other(table, p_correct)[rows]
    turn_id = flat(signals["turn_id"])
    return CORRECTION.conform(
        pa.table(
            {
                "turn_id": turn_id.take(pa.array(turn)),
                "candidate_id": pa.array(hex_id(table.candidate_id[rows]), pa.string()),
                "model_id": pa.repeat(models.correction_id, len(rows)),
                "interpretation": _interpretations(turns, table, rows, models.chain),
                "source": _sources(table, rows, reviewed),
                "p_correct": p_correct[rows],
                "margin": np.round(p_correct[rows] - lead, DECIMALS),
                "accepted": accepted[turn] & chosen,
                # Gold speaks of a turn's own hypotheses; what it proved holds for those.
                "certified": accepted[turn]
                & chosen
                & limits.certifies(choice.margin)[turn]
                & (table.offset[rows] == 0)
                & ~reviewed[rows],
                "supporting_turns": _supporting(turn_id, table, rows),
            }
        )
    )


def _supporting(turn_id: pa.Array, table: CandidateTable, rows: I64) -> pa.ListArray:
    """For each candidate the first later turn that says the same, then the one it was taken from, each once."""
    at = np.column_stack([table.support[rows], table.origin[rows]])
    has = at >= 0
    has[:, 1] &= at[:, 1] != at[:, 0]
    offsets = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), turn_id.take(pa.array(at[has])))


def _interpretations(turns: pa.Table, table: CandidateTable, rows: I64, chain: Chain | None = None) -> pa.Array:
    """The candidates' interpretations. Slots of one that is not the turn's own are projected onto its utterance."""
    taken = _taken(turns, table, rows, chain)
    own = table.offset[rows] == 0
    slots = taken.field("slots")
    entries = slots.flatten()
    owner = np.repeat(np.arange(len(rows)), np.diff(list_offsets(slots)))
    other = np.flatnonzero(~own[owner])
    said = strings(turns["utterance"])[table.turn[rows]]
    spans = projections(said, owner[other], strings(entries.field("value"))[other])
    ends = {n: _at(entries.field(n), other, span) for n, span in zip(("start", "end"), spans, strict=True)}
    fields = [ends.get(f.name, entries.field(f.name)) for f in SLOT]
    projected = pa.ListArray.from_arrays(
        pa.array(list_offsets(slots), pa.int32()),
        pa.StructArray.from_arrays(fields, fields=list(SLOT)),
        mask=pa.array(slots.is_null()),
    )
    columns = [projected if f.name == "slots" else taken.field(f.name) for f in INTERPRETATION]
    return pa.StructArray.from_arrays(columns, fields=list(INTERPRETATION))


def _taken(turns: pa.Table, table: CandidateTable, rows: I64, chain: Chain | None) -> pa.Array:
    """The candidates' interpretations as they stand at the turn, or at the later one, that they come from."""
    lists = flat(turns["interpretations"])
    offset, held = table.offset[rows], lists.flatten().cast(INTERPRETATION)
    listed = offset != OF_CHAIN
    at = np.zeros(len(rows), np.int64)
    turn, entry = table.turn[rows][listed] + offset[listed], np.where(offset == 0, table.entry[rows], 0)[listed]
    at[listed] = list_offsets(lists)[turn] + entry
    if listed.all():
        return held.take(pa.array(at))
    if chain is None:
        raise ValueError("_taken: what the chain proposed wants the chain")
    at[~listed] = len(held) + chain.place(table.candidate_id[rows][~listed])
    return pa.concat_arrays([held, chain.interpretations]).take(pa.array(at))


def _at(values: pa.Array, rows: I64, new: I64) -> pa.Array:
    """Values with new ones at the given rows; a negative one is null there."""
    mask = np.zeros(len(values), bool)
    mask[rows] = True
    return pc.replace_with_mask(values, pa.array(mask), pa.array(new, values.type, mask=new < 0))
