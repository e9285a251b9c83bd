"""An LLM agent's turns: which of them answered their user, and what stood before them.

A turn is an agent's where it executed a tool call (`schemas.TOOL_DOMAIN`), or where there is no reading of an NLU and
the system answered in words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, hash128_hex, join, strings
from features.interpretation import acted_on, flatten, list_offsets
from features.learnable import learnable
from features.text import flat, is_true
from pipeline.transforms.counts import domain_names
from schemas import CONTEXT_TURN, TOOL_DOMAIN

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ContextOptions:
    """How much of what was said before goes with an answer.

    Attributes
    ----------
    turns : int
    chars : int
        Code points of utterances and responses.
    below : float
        Highest p(defect) of a turn in it.
    """

    turns: int
    chars: int
    below: float


def well_formed(entries: pa.StructArray) -> Mask:
    """Interpretations that can be a label, shape (m,): with an intent; a tool call also with a name for every argument.

    A blank intent is none. An argument without a name could only be left out, and the call would be another.
    """
    named = is_true(pc.not_equal(pc.utf8_trim_whitespace(pc.struct_field(entries, "intent")), ""))
    slots = pc.struct_field(entries, "slots")
    tool = is_tool(entries)
    if not tool.any():
        return named
    offsets = list_offsets(slots)
    nameless = np.concatenate([[0], np.cumsum(strings(slots.flatten().field("name")) == "")])
    return named & ~(tool & (nameless[offsets[1:]] > nameless[offsets[:-1]]))


def is_tool(entries: pa.StructArray) -> Mask:
    """Interpretations that are tool calls, shape (m,)."""
    return is_true(pc.equal(pc.struct_field(entries, "domain"), TOOL_DOMAIN))


def said(turns: pa.Table) -> Mask:
    """Turns whose response holds more than white space, shape (n,)."""
    return is_true(pc.not_equal(pc.utf8_trim_whitespace(flat(turns["response"])), ""))


def answered(turns: pa.Table, executed: I64) -> Mask:
    """Turns of an agent in which the system answered, well or not, shape (n,).

    A turn without a reading is an answer in words where its outcome says `answered`. Where no outcome was logged it is
    one unless an NLU has read other turns of the user: then it is one that the NLU did not understand.

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows of whole subjects, in order.
    executed : numpy.ndarray of int64, shape (n,)
        Flat index of the interpretation acted on, well formed; -1 = none.
    """
    lists = flat(turns["interpretations"])
    outcome = flat(turns["outcome"])
    good, unknown = is_true(pc.equal(outcome, "answered")), is_true(pc.is_null(outcome))
    called = tool_calls(turns, executed)
    in_words = (np.diff(list_offsets(lists)) == 0) & said(turns)
    if (in_words & unknown).any():
        unknown &= called | ~_read_by_nlu(turns, lists)
    in_words &= good | unknown
    return (called & (good | unknown)) | in_words


def tool_calls(turns: pa.Table, executed: I64) -> Mask:
    """Turns that executed a well-formed tool call, shape (n,)."""
    tool = np.append(is_tool(flat(turns["interpretations"]).flatten()), False)
    return (executed >= 0) & tool[executed]


def _read_by_nlu(turns: pa.Table, lists: pa.ListArray) -> Mask:
    """Turns of subjects that have a reading of an NLU in any turn."""
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    subject = flat(turns["subject_id"])
    readers = subject.take(pa.array(owner[~is_tool(lists.flatten())])).unique()
    return is_true(pc.is_in(subject, value_set=readers))


def contexts(
    turns: pa.Table,
    judgements: pa.Table,
    executed: I64,
    rows: I64,
    options: ContextOptions,
    shown: Mask | None = None,
) -> tuple[pa.ListArray, npt.NDArray[np.object_]]:
    """The turns before each of `rows`, as far back as they can stand in a training example.

    Going back it ends at the session's first turn or where the conversation changes, at a turn that was judged
    defective or has a p(defect) over `options.below`, whose outcome is logged as other than answered, that may not be
    learned from or that is not to be shown, that got no words or an ill-formed tool call, and where another option
    says so.

    Parameters
    ----------
    turns, judgements : pyarrow.Table
        Rows of the same turns in the same order.
    executed : numpy.ndarray of int64, shape (n,)
        As in `answered`.
    rows : numpy.ndarray of int64, shape (k,)
    options : ContextOptions
    shown : numpy.ndarray of bool, shape (n,), optional
        Turns that may stand in a context; all of them if not given.

    Returns
    -------
    contexts : pyarrow.ListArray
        k lists of CONTEXT_TURN, oldest turn first.
    keys : numpy.ndarray of object, shape (k,)
        Hash of each context's texts: the same words have the same key, whoever said them.
    """
    first = _first(turns, judgements, executed, options, shown)[rows]
    lengths = rows - first
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    member = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, lengths)
    held = _held(turns, judgements, executed, member)
    at = pa.array(offsets, pa.int32())
    words = pc.binary_join(pa.ListArray.from_arrays(at, pa.array(_texts(turns, executed, member), pa.string())), "\x1e")
    return pa.ListArray.from_arrays(at, held), hash128_hex(strings(words))


def done_ids(turns: pa.Table, executed: I64, rows: I64) -> I64:
    """64-bit hash of the exact words of each of `rows` and what they got: the tool call, else the response."""
    return hash64(_texts(turns, executed, rows, response_of_calls=False)).view(np.int64)


def got_ids(turns: pa.Table, executed: I64, rows: I64) -> I64:
    """64-bit hash of what each of `rows` got, whatever was asked: the tool call, else the response."""
    return hash64(_got(turns, executed, rows, response_of_calls=False)).view(np.int64)


def _first(turns: pa.Table, judgements: pa.Table, executed: I64, options: ContextOptions, shown: Mask | None) -> I64:
    """Row at which each turn's context begins, shape (n,); its own row where it has none."""
    n = turns.num_rows
    at = np.arange(n, dtype=np.int64)
    begins = np.ones(n, bool)
    names = join(strings(judgements["session_id"]), strings(turns["conversation_id"]))
    begins[1:] = names[1:] != names[:-1]
    start = np.maximum.accumulate(np.where(begins, at, 0)) if n else at
    unfit = is_true(flat(judgements["is_defect"])) | ~learnable(turns) | ~said(turns)
    if shown is not None:
        unfit |= ~shown
    unfit |= ~(flat(judgements["p_defect"]).to_numpy() <= options.below)
    unfit |= is_true(pc.not_equal(flat(turns["outcome"]), "answered"))
    unfit |= tool_calls(turns, acted_on(turns["interpretations"], turns["executed"])) & ~tool_calls(turns, executed)
    after = np.concatenate([[0], np.maximum.accumulate(np.where(unfit, at + 1, 0))])[:n]
    sizes = [pc.fill_null(pc.utf8_length(flat(turns[c])), 0).to_numpy() for c in ("utterance", "response")]
    total = np.concatenate([[0], np.cumsum(sizes[0] + sizes[1], dtype=np.int64)])[:n]
    fits = np.searchsorted(total, total - options.chars, side="left")
    return np.maximum.reduce([start, after, at - options.turns, fits])


def _held(turns: pa.Table, judgements: pa.Table, executed: I64, rows: I64) -> pa.StructArray:
    """CONTEXT_TURN of each of `rows`."""
    at = pa.array(rows)
    call = _calls(turns, executed, rows)
    columns = [
        flat(turns["turn_id"]).take(at),
        flat(turns["utterance"]).take(at),
        pc.struct_field(call, "intent"),
        pc.struct_field(call, "slots"),
        flat(turns["response"]).take(at),
        flat(judgements["p_defect"]).take(at),
        domain_names(flat(judgements["domain"]).take(at)),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(CONTEXT_TURN))


def _calls(turns: pa.Table, executed: I64, rows: I64) -> pa.StructArray:
    """Tool call of each of `rows`; null where it has none."""
    none = ~tool_calls(turns, executed)[rows]
    return flat(turns["interpretations"]).flatten().take(pa.array(np.maximum(executed[rows], 0), mask=none))


def _texts(turns: pa.Table, executed: I64, rows: I64, response_of_calls: bool = True) -> npt.NDArray[np.object_]:
    """Words, tool call and response of each of `rows`, joined."""
    words = strings(flat(turns["utterance"]).take(pa.array(rows)))
    return join(words, _got(turns, executed, rows, response_of_calls))


def _got(turns: pa.Table, executed: I64, rows: I64, response_of_calls: bool) -> npt.NDArray[np.object_]:
    """Tool call and response of each of `rows`, joined."""
    call = _calls(turns, executed, rows)
    single = pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1), pa.int32()), call)
    called = is_true(pc.is_valid(call))
    identity = np.where(called, flatten(single).candidate_id.astype(str).astype(object), "")
    response = strings(flat(turns["response"]).take(pa.array(rows)))
    if not response_of_calls:
        response = np.where(called, "", response)
    return join(identity, response)
