"""Judge turns with fitted models: Judgement and Correction rows."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import hex_id, list_offsets
from features.text import flat
from models.correction import DECIMALS, Choice, best_alternative, eligible, highest_other
from models.design import CandidateTable, Design, candidate_design, candidate_table, numbers, turn_design
from models.folds import subject_folds
from models.reading import frames, words
from models.training import Models
from schemas import CORRECTION, INTERPRETATION, JUDGEMENT
from schemas.judgement import REASON
from schemas.turn import SLOT

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Reasons kept a turn.
REASONS: Final = 3
# Below this confidence the recogniser is blamed before the interpreter: at even odds the words themselves are in doubt.
ASR_DOUBT: Final = 0.5


def judge(turns: pa.Table, signals: pa.Table, models: Models) -> tuple[pa.Table, pa.Table]:
    """Judge the turns of whole sessions.

    Parameters
    ----------
    turns, signals : pyarrow.Table
        Turn and Signals rows of the same turns in the same (total) order. Of the turns `interpretations` are read,
        and `utterance` by models with readings.
    models : Models

    Returns
    -------
    judgements : pyarrow.Table
        One row a turn, in order.
    corrections : pyarrow.Table
        One row an alternative candidate of each turn judged defective.
    """
    fold = subject_folds(signals["subject_id"], models.options.folds)
    table = candidate_table(signals, models.prior, fold)
    design = turn_design(signals, table)
    p_defect = np.round(models.defect.predict(design, fold), DECIMALS)
    is_defect = p_defect >= models.threshold.value
    # Only a defective turn is asked what was meant.
    table = table.take(np.flatnonzero(is_defect[table.turn]))
    candidates = _with_reading(candidate_design(signals, table, design), turns, signals, table, models, fold)
    p_correct = np.round(models.correction.predict(candidates, fold[table.turn]), DECIMALS)
    choice = best_alternative(table, p_correct, signals.num_rows)
    blame = _blame(signals, table, choice, is_defect)
    reasons = _reasons(models, design, fold, is_defect)
    judgements = _judgements(signals, models, p_defect, is_defect, blame, reasons)
    return judgements, _corrections(turns, signals, models, table, p_correct, is_defect, choice)


def _with_reading(
    design: Design, turns: pa.Table, signals: pa.Table, table: CandidateTable, models: Models, fold: I64
) -> Design:
    """The candidates' columns with those of readings, where the model was trained with them."""
    reading = models.correction.reading
    if reading is None:
        return design
    asked = np.zeros(signals.num_rows, bool)
    asked[table.turn] = True
    held = words(pc.if_else(pa.array(asked), flat(turns["utterance"]), None))
    return design.beside(reading.columns(held, frames(signals, table), table, fold[table.turn]))


def contributions(signals: pa.Table, models: Models) -> tuple[Design, F64]:
    """What the defect model sees of turns, and what each feature adds to their log-odds before calibration.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    models : Models

    Returns
    -------
    design : Design
        n rows.
    contribution : numpy.ndarray, shape (n, features)
        Of each turn by the booster that has not seen its subject; `judgement.reasons` holds the highest of them.
    """
    fold = subject_folds(signals["subject_id"], models.options.folds)
    design = turn_design(signals, candidate_table(signals, models.prior, fold))
    return design, models.defect.folds.contributions(design, fold)


def _judgements(
    signals: pa.Table, models: Models, p_defect: F64, is_defect: Mask, blame: npt.NDArray[np.object_], reasons: pa.Array
) -> pa.Table:
    n = signals.num_rows
    return JUDGEMENT.conform(
        pa.table(
            {
                "turn_id": signals["turn_id"],
                "model_id": pa.repeat(models.defect_id, n),
                "subject_id": signals["subject_id"],
                "session_id": signals["session_id"],
                "event_time": signals["event_time"],
                "domain": signals["domain"],
                "p_defect": p_defect,
                "threshold": pa.repeat(models.threshold.value, n),
                "is_defect": is_defect,
                "certified": is_defect & models.threshold.certifies(p_defect),
                "blame": pa.array(blame, pa.string()),
                "reasons": reasons,
            }
        )
    )


def _blame(signals: pa.Table, table: CandidateTable, choice: Choice, is_defect: Mask) -> npt.NDArray[np.object_]:
    """Which component a defect is attributed to (Falke and Lehnen 2021), by what the turn's record shows.

    In this order: the system said it cannot serve it and no reading is likelier: unsupported; the recogniser was in
    doubt: asr; the likeliest other reading has the same frame: slots, another: intent; there is no other reading:
    action.
    """
    n = signals.num_rows
    lists = flat(signals["candidates"])
    offsets = list_offsets(lists)
    entries = lists.flatten()
    frame = entries.field("frame_id").to_numpy()[offsets[table.turn] + table.entry]
    top_frame = np.zeros(n, np.int64)
    top_frame[table.turn[table.is_top]] = frame[table.is_top]
    has = choice.row >= 0
    same_frame = np.zeros(n, bool)
    same_frame[has] = frame[choice.row[has]] == top_frame[has]
    refused = (numbers(signals["cannot_help"]) > 0) & ~(choice.margin > 0)
    doubt = numbers(signals["asr_confidence"]) < ASR_DOUBT
    names = np.select(
        [~is_defect, refused, doubt, has & same_frame, has], ["none", "unsupported", "asr", "slots", "intent"], "action"
    )
    return names.astype(object)


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


def _corrections(
    turns: pa.Table,
    signals: pa.Table,
    models: Models,
    table: CandidateTable,
    p_correct: F64,
    is_defect: Mask,
    choice: Choice,
) -> pa.Table:
    accepted = eligible(table, choice, is_defect, models.options.margin) & (choice.probability >= models.tau.value)
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
                "interpretation": _interpretations(turns, table, rows),
                "source": pc.if_else(pa.array(table.offset[rows] > 0), "rephrase", "n-best"),
                "p_correct": p_correct[rows],
                "margin": np.round(p_correct[rows] - lead, DECIMALS),
                "accepted": accepted[turn] & chosen,
                # Gold speaks of a turn's own hypotheses; what it proved holds for those.
                "certified": accepted[turn]
                & chosen
                & models.tau.certifies(p_correct[rows])
                & (table.offset[rows] == 0),
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


def _interpretations(turns: pa.Table, table: CandidateTable, rows: I64) -> pa.Array:
    """The candidates' interpretations. One of a later turn loses its spans: they stand in that turn's words."""
    lists = flat(turns["interpretations"])
    own = table.offset[rows] == 0
    at = list_offsets(lists)[table.turn[rows] + table.offset[rows]] + np.where(own, table.entry[rows], 0)
    taken = lists.flatten().take(pa.array(at)).cast(INTERPRETATION)
    slots = taken.field("slots")
    entries = slots.flatten()
    inside = pa.array(np.repeat(own, np.diff(list_offsets(slots))))
    fields = [
        pc.if_else(inside, entries.field(f.name), None) if f.name in ("start", "end") else entries.field(f.name)
        for f in SLOT
    ]
    spanless = pa.ListArray.from_arrays(
        pa.array(list_offsets(slots), pa.int32()),
        pa.StructArray.from_arrays(fields, fields=list(SLOT)),
        mask=pa.array(slots.is_null()),
    )
    columns = [spanless if f.name == "slots" else taken.field(f.name) for f in INTERPRETATION]
    return pa.StructArray.from_arrays(columns, fields=list(INTERPRETATION))
