"""The last look at messages before they are written: what a trainer would stumble over, or learn nothing from."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from features.text import is_true
from pipeline.errors import GateError

Mask = npt.NDArray[np.bool_]


def check(view: str, ids: pa.Array | pa.ChunkedArray, messages: pa.ListArray, ends: str = "assistant") -> None:
    """Refuse lists of messages that cannot be learned.

    A list ends with a message of the role `ends`; every message holds words or a tool call; only the assistant calls
    tools; a call has a name, and arguments that are a JSON object.

    Parameters
    ----------
    view : str
        Whose messages they are.
    ids : pyarrow.StringArray
        Their examples, shape (n,).
    messages : pyarrow.ListArray of MESSAGE
        n lists.
    ends : str
        Role of each list's last message.

    Raises
    ------
    GateError
        With the first such example's id and what is wrong; what the message holds is a user's text, and is not told.
    """
    offsets = list_offsets(messages)
    entries = messages.flatten()
    role = entries.field("role")
    last = np.zeros(len(messages), bool)
    some = np.diff(offsets) > 0
    last[some] = is_true(pc.equal(role, ends))[offsets[1:][some] - 1]
    calls = entries.field("tool_calls")
    calling = is_true(pc.greater(pc.list_value_length(calls), 0))
    content = pc.utf8_trim_whitespace(entries.field("content").fill_null(""))
    faults = {
        "of role {role} calls a tool": calling & ~is_true(pc.equal(role, "assistant")),
        "of role {role} holds nothing": ~calling & is_true(pc.equal(content, "")),
        "holds a malformed tool call": _malformed(calls),
    }
    owner = np.repeat(np.arange(len(messages)), np.diff(offsets))
    wrong = np.zeros(len(owner), bool)
    for rows in faults.values():
        wrong |= rows
    bad = ~last
    bad[owner[wrong]] = True
    if not bad.any():
        return
    chat = int(np.argmax(bad))
    if not last[chat]:
        told = f"the last message is not the {ends}'s"
    else:
        at = int(np.flatnonzero(wrong & (owner == chat))[0])
        told = next(text for text, rows in faults.items() if rows[at]).format(role=role[at].as_py())
        told = f"message {at - offsets[chat] + 1} {told}"
    raise GateError(
        f"{view}: example {ids[chat].as_py()}: {told}. Nothing was published; stages/curate/examples names its turns. "
        "Leave them out of the input, and report it"
    )


def _malformed(calls: pa.ListArray) -> Mask:
    """Whether a call of each message has no name, or arguments that are no JSON object; each text is read once."""
    functions = calls.flatten().field("function")
    texts = functions.field("arguments").dictionary_encode()
    fine = np.array([_is_object(text) for text in texts.dictionary.to_pylist()] + [False])
    at = texts.indices.fill_null(len(fine) - 1).to_numpy(zero_copy_only=False)
    named = is_true(pc.not_equal(functions.field("name").fill_null(""), ""))
    owner = np.repeat(np.arange(len(calls)), np.diff(list_offsets(calls)))
    out = np.zeros(len(calls), bool)
    out[owner[~(fine[at] & named)]] = True
    return out


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
