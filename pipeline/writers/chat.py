"""Chat messages, a column at a time: requests, interpretations, tool calls and words in the form that trainers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, strings
from features.interpretation import list_offsets
from features.text import flat
from pipeline.writers.slots import arguments
from schemas.view import MESSAGE, PROMPT_MESSAGE, TOOL_CALL

I64 = npt.NDArray[np.int64]

# Before every request that is to be answered with its interpretation, in training and in use.
INSTRUCTION: Final = (
    "Reply with what the user means, as JSON without spaces: "
    '{"domain":...,"intent":...,"slots":[{"name":...,"value":...}]}, slots sorted by name.'
)
# Some chat templates take ids of exactly so many letters and digits.
_CALL_ID_LENGTH: Final = 9
_TEXT: Final = pa.string()
# Place of the request itself: behind every turn of a context.
_REQUEST: Final = 1 << 40
AFTER_REQUEST: Final = _REQUEST + 1


@dataclass(frozen=True)
class Messages:
    """Messages of some chats, one entry each, in any order.

    Attributes
    ----------
    chat, place : numpy.ndarray of int64, shape (m,)
        Row of the chat, and what the chat's messages are sorted by.
    role : str
        Of them all.
    content : pyarrow.StringArray, shape (m,)
    name, arguments, call_id : pyarrow.StringArray, shape (m,)
        The tool call, and its id, which the tool's own message names as well; null = none.
    """

    chat: I64
    place: I64
    role: str
    content: pa.Array
    name: pa.Array
    arguments: pa.Array
    call_id: pa.Array


def said(chat: I64, place: I64 | int, role: str, content: pa.Array | None, call_id: pa.Array | None = None) -> Messages:
    """Messages in words; `call_id` is that of the call that a tool replies to."""
    none = pa.nulls(len(chat), _TEXT)
    places = np.broadcast_to(np.asarray(place, np.int64), chat.shape)
    words = none if content is None else content
    return Messages(chat, places, role, words, none, none, none if call_id is None else call_id)


def called(chat: I64, place: I64 | int, owner: pa.Array, name: pa.Array, slots: pa.ListArray) -> Messages:
    """The assistant's messages that call a tool, and say nothing.

    Parameters
    ----------
    chat, place : see `Messages`
    owner : pyarrow.StringArray
        Id of the turn or example that calls; the call's own id is a hash of it.
    name : pyarrow.StringArray
    slots : pyarrow.ListArray of SLOT
        Arguments; none are `{}`.
    """
    held = said(chat, place, "assistant", None)
    return Messages(held.chat, held.place, held.role, held.content, name, arguments(slots), call_ids(owner))


def call_ids(owner: pa.Array) -> pa.Array:
    """Ids of the tool calls of turns or examples, shape (n,)."""
    return pa.array([f"{h:016x}"[:_CALL_ID_LENGTH] for h in hash64(strings(owner)).tolist()], _TEXT)


def requests(utterances: pa.Array, chat: I64) -> list[Messages]:
    """The instruction and an utterance whose interpretation is asked for, of the rows `chat`."""
    return [
        said(chat, _REQUEST - 1, "system", pa.repeat(INSTRUCTION, len(chat))),
        said(chat, _REQUEST, "user", utterances.take(pa.array(chat))),
    ]


def dialogs(utterances: pa.Array, contexts: pa.ListArray, chat: I64) -> list[Messages]:
    """The turns before an utterance and the utterance, of the rows `chat`.

    What the system said after a tool call stands as the tool's reply: the call's result is not logged.
    """
    held = contexts.take(pa.array(chat))
    offsets = list_offsets(held)
    lengths = np.diff(offsets)
    owner = np.repeat(chat, lengths)
    place = 3 * (np.arange(len(owner)) - np.repeat(offsets[:-1], lengths))
    turns = held.flatten()
    acted = turns.field("tool").is_valid()
    tool, words = (np.flatnonzero(m.to_numpy(zero_copy_only=False)) for m in (acted, pc.invert(acted)))
    calls, answers = turns.take(pa.array(tool)), turns.take(pa.array(words))
    ids = calls.field("turn_id")
    return [
        said(owner, place, "user", turns.field("utterance")),
        said(owner[words], place[words] + 1, "assistant", answers.field("response")),
        called(owner[tool], place[tool] + 1, ids, calls.field("tool"), calls.field("arguments")),
        said(owner[tool], place[tool] + 2, "tool", calls.field("response"), call_ids(ids)),
        said(chat, _REQUEST, "user", utterances.take(pa.array(chat))),
    ]


def chats(parts: Sequence[Messages], n: int) -> pa.ListArray:
    """The messages of n chats in order, as lists of MESSAGE."""
    order, offsets = _ordered(parts, n)
    text = {name: _column(parts, name).take(order) for name in ("content", "name", "arguments", "call_id")}
    call = text["arguments"].is_valid()
    at = np.concatenate([[0], np.cumsum(call.to_numpy(zero_copy_only=False))])
    made = {name: text[name].filter(call) for name in ("name", "arguments", "call_id")}
    function = pa.StructArray.from_arrays([made["name"], made["arguments"]], fields=list(TOOL_CALL[2].type))
    kind = pa.repeat("function", len(function))
    entries = pa.StructArray.from_arrays([made["call_id"], kind, function], fields=list(TOOL_CALL))
    calls = pa.ListArray.from_arrays(pa.array(at, pa.int32()), entries, mask=pc.invert(call))
    reply = pc.if_else(call, pa.scalar(None, _TEXT), text["call_id"])
    columns = [_roles(parts).take(order), text["content"], calls, reply]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=list(MESSAGE)))


def prompts(parts: Sequence[Messages], n: int) -> pa.ListArray:
    """The same of messages without tool calls, as lists of PROMPT_MESSAGE."""
    order, offsets = _ordered(parts, n)
    columns = [_roles(parts).take(order), _column(parts, "content").take(order)]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=list(PROMPT_MESSAGE)))


def _ordered(parts: Sequence[Messages], n: int) -> tuple[pa.Array, pa.Array]:
    """Where each message stands among the parts, chat after chat, and where each chat begins."""
    chat = np.concatenate([np.zeros(0, np.int64), *(p.chat for p in parts)])
    place = np.concatenate([np.zeros(0, np.int64), *(p.place for p in parts)])
    ends = np.cumsum(np.bincount(chat, minlength=n))
    return pa.array(np.lexsort((place, chat))), pa.array(np.concatenate([[0], ends]), pa.int32())


def _roles(parts: Sequence[Messages]) -> pa.Array:
    return pa.concat_arrays([pa.repeat(p.role, len(p.chat)) for p in parts])


def _column(parts: Sequence[Messages], name: str) -> pa.Array:
    return pa.concat_arrays([flat(getattr(p, name)) for p in parts])
