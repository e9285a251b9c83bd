"""The `sft` view: chat messages that end with what the assistant is to learn.

Trainers may mask by role, and then every assistant message is learned, those of the context too. So a context holds
none that was judged defective or may well be, and what the system said after a tool call stands there as the tool's
reply: the call's result is not logged, and words without their ground are nothing to learn.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

from pipeline.errors import GateError
from pipeline.writers.chat import Message, call_id, interpretation, message, request, tool_call
from pipeline.writers.provenance import provenance
from schemas import SFT, TOOL_DOMAIN

_COLUMNS: Final = ("example_id", "utterance", "domain", "intent", "slots", "response", "context", "kind")


def sft(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.

    Raises
    ------
    GateError
        If an example cannot be learned: it ends with nothing, or a tool call is malformed.
    """
    messages = []
    for example in examples.select(_COLUMNS).to_pylist():
        chat = _messages(example)
        check(example["example_id"], chat)
        messages.append(chat)
    own = {
        "id": examples["example_id"],
        "messages": pa.array(messages, SFT.schema.field("messages").type),
        "tools": pa.nulls(examples.num_rows, pa.string()),
        "provenance": provenance(examples),
    }
    return SFT.conform(pa.table([own[n] if n in own else examples[n] for n in SFT.names], names=list(SFT.names)))


def _messages(example: dict[str, Any]) -> list[Message]:
    """An example as messages, the completion last."""
    called = example["domain"] == TOOL_DOMAIN
    if example["kind"] != "answer" and not called:
        label = interpretation(example["domain"], example["intent"], example["slots"])
        return [*request(example["utterance"]), message("assistant", label)]
    before = [m for turn in example["context"] or [] for m in _turn(turn)]
    completion = (
        tool_call(example["example_id"], example["intent"], example["slots"])
        if called
        else message("assistant", example["response"])
    )
    return [*before, message("user", example["utterance"]), completion]


def _turn(turn: dict[str, Any]) -> list[Message]:
    """A turn of the context."""
    asked = message("user", turn["utterance"])
    if turn["tool"] is None:
        return [asked, message("assistant", turn["response"])]
    call = tool_call(turn["turn_id"], turn["tool"], turn["arguments"])
    return [asked, call, message("tool", turn["response"], tool_call_id=call_id(turn["turn_id"]))]


def check(example_id: str, messages: list[Message]) -> None:
    """Refuse messages that a trainer would stumble over, or learn nothing from.

    Raises
    ------
    GateError
        With the example's id and what is wrong.
    """
    fault = _fault(messages)
    if fault:
        raise GateError(
            f"sft: example {example_id}: {fault}. Nothing was published; stages/curate/examples names its turns. "
            "Leave them out of the input, and report it"
        )


def _fault(messages: list[Message]) -> str | None:
    """What is wrong with messages; None if nothing is."""
    if not messages or messages[-1]["role"] != "assistant":
        return "the last message is not the assistant's"
    for at, held in enumerate(messages, 1):
        calls = held["tool_calls"] or []
        if calls and held["role"] != "assistant":
            return f"message {at} of role {held['role']} calls a tool"
        if not calls and not (held["content"] or "").strip():
            return f"message {at} of role {held['role']} holds nothing"
        if not all(_is_call(call) for call in calls):
            # What it holds is a user's text, and stays out of messages.
            return f"message {at} holds a malformed tool call"
    return None


def _is_call(call: dict[str, Any]) -> bool:
    """Whether a tool call has a name, and arguments that are a JSON object."""
    try:
        arguments = json.loads(call["function"]["arguments"])
    except (KeyError, TypeError, ValueError):
        return False
    return bool(call["function"].get("name")) and isinstance(arguments, dict)
