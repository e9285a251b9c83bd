"""Chat messages: an interpretation, a request and a tool call in the form that trainers read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from features.hashing import hash_text

Message = dict[str, Any]

# Before every request that is to be answered with its interpretation, in training and in use.
INSTRUCTION: Final = (
    "Reply with what the user means, as JSON without spaces: "
    '{"domain":...,"intent":...,"slots":[{"name":...,"value":...}]}, slots sorted by name.'
)
# Some chat templates take ids of exactly so many letters and digits.
_CALL_ID_LENGTH: Final = 9


def interpretation(domain: str | None, intent: str | None, slots: Iterable[dict[str, Any]] | None) -> str:
    """An interpretation as compact JSON.

    Keys stand in one order and slots are sorted, by name and value: one meaning is one text.
    """
    pairs = sorted(((s["name"], s["value"]) for s in slots or []), key=lambda p: (p[0] or "", p[1] or ""))
    return compact({"domain": domain, "intent": intent, "slots": [{"name": n, "value": v} for n, v in pairs]})


def message(role: str, content: str | None, **more: Any) -> Message:
    """One message; what it does not have is null."""
    return {"role": role, "content": content, "tool_calls": None, "tool_call_id": None} | more


def request(utterance: str) -> list[Message]:
    """The instruction and an utterance whose interpretation is asked for."""
    return [message("system", INSTRUCTION), message("user", utterance)]


def tool_call(owner: str, name: str | None, arguments: Iterable[dict[str, Any]] | None) -> Message:
    """The assistant's message that calls a tool, and says nothing.

    Parameters
    ----------
    owner : str
        Id of the turn or example that calls; the call's own id is a hash of it.
    name : str
    arguments : iterable of slots
        Text as logged. A name that stands more than once has a list of its values.
    """
    values: dict[str, list[str | None]] = {}
    for slot in arguments or []:
        values.setdefault(slot["name"], []).append(slot["value"])
    held = {k: v[0] if len(v) == 1 else v for k, v in sorted(values.items())}
    function = {"name": name, "arguments": compact(held)}
    return message("assistant", None, tool_calls=[{"id": call_id(owner), "type": "function", "function": function}])


def call_id(owner: str) -> str:
    """Id of the tool call of a turn or example."""
    return f"{hash_text(owner):016x}"[:_CALL_ID_LENGTH]


def compact(value: Any) -> str:
    """JSON without spaces, keys in the order given, text as it is."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
