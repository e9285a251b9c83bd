"""Let's Go bus-information calls of the first Dialog State Tracking Challenge (Williams et al., SIGDIAL 2013).

One JSON call a line, log and labels joined by turn. A Turn is what the caller said at `turn-index`, with the system's
words before it as `prompt` and the ones after it as `response`; hypotheses are sorted by score, best first. The
per-hypothesis labels go to Gold; those marked auto-expl-conf come from the caller's own confirmation, so they are left
out: implicit feedback must not be measured against itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import IO, Any, ClassVar

import pyarrow as pa

from features.interpretation import flatten, hex_id
from pipeline.readers.base import Batch, Refused, dead_letter, parse
from schemas import DEAD_LETTER, GOLD, LOGGED_TURN, Reason

# Calls of one batch: about 1,000 turns.
_CALLS = 100


class DstcReader:
    """Reader `dstc`."""

    name: ClassVar[str] = "dstc"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)
    zone: ClassVar[str | None] = "America/New_York"

    def read(self, stream: IO[bytes], uri: str) -> Iterator[Batch]:
        """Read calls, one a line."""
        lines = enumerate(stream, start=1)
        while chunk := list(islice(lines, _CALLS)):
            yield _batch(chunk, uri)


def _batch(lines: list[tuple[int, bytes]], uri: str) -> Batch:
    turns: list[pa.Table] = [LOGGED_TURN.empty()]
    labels: list[list[dict[str, Any]]] = []
    dead: list[dict[str, Any]] = []
    replaced = 0
    for position, line in lines:
        if not line.strip():
            continue
        try:
            call, mended = parse(line)
            table, hypotheses = _call(call, uri, position)
        except Refused as refusal:
            detail = f"{uri}:{position}: {refusal.detail}"
            dead.append(dead_letter(refusal.reason, uri, position, detail, refusal.record))
            continue
        turns.append(table)
        labels += hypotheses
        replaced += mended
    table = pa.concat_tables(turns)
    return Batch(table, _gold(table, labels), pa.Table.from_pylist(dead, schema=DEAD_LETTER.schema), replaced)


def _call(call: Any, uri: str, position: int) -> tuple[pa.Table, list[list[dict[str, Any]]]]:
    """A call's turns and their labelled hypotheses; the whole call or, on an error, nothing."""
    try:
        pairs = _turns(call, uri, position)
        return pa.Table.from_pylist([turn for turn, _ in pairs], schema=LOGGED_TURN.schema), [h for _, h in pairs]
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # Only a KeyError's text is ours, a field's name; another may quote the call.
        found = f"no {error}" if isinstance(error, KeyError) else type(error).__name__
        raise Refused(Reason.NOT_A_RECORD, f"not a call of this format ({found})", call) from None


def _turns(call: dict[str, Any], uri: str, position: int) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The turns of one call with their labelled hypotheses, best first. The whole call or, on an error, nothing."""
    start = datetime.strptime(f"{call['session-date']} {call['session-time']}", "%m-%d-%Y %H:%M:%S")
    out = []
    logged = call["turns"]
    for index, turn in enumerate(logged):
        live = turn["input"]["live"]
        status = turn["label"]["transcription-status"]
        asr = sorted(live["asr-hyps"], key=lambda h: -h["score"])
        slu = sorted(live["slu-hyps"], key=lambda h: -h["score"])
        hypotheses = [{**h, "status": status} for h in slu]
        out.append(
            (
                {
                    "turn_id": f"{call['session-id']}:{turn['turn-index']}",
                    "conversation_id": call["session-id"],
                    "sequence": turn["turn-index"],
                    "event_time": _time(start, turn["input"]["start-time"]),
                    "locale": "en-US",
                    "channel": "phone",
                    "prompt": turn["output"]["transcript"],
                    "utterance": asr[0]["asr-hyp"] if asr else "",
                    "asr": [{"text": h["asr-hyp"], "confidence": h["score"]} for h in asr],
                    "interpretations": [_interpretation(h) for h in slu],
                    "executed": 0 if slu else None,
                    "response": logged[index + 1]["output"]["transcript"] if index + 1 < len(logged) else None,
                    "source": {"uri": uri, "position": position},
                    "extra": json.dumps(
                        {"restart": turn["restart"], "dialog-acts": turn["output"]["dialog-acts"]}, sort_keys=True
                    ),
                },
                hypotheses,
            )
        )
    return out


def _time(start: datetime, seconds: float | None) -> str | None:
    """A silent turn has no start; the missing utterance refuses it anyway."""
    return None if seconds is None else (start + timedelta(seconds=seconds)).isoformat()


def _interpretation(hypothesis: dict[str, Any]) -> dict[str, Any]:
    acts = hypothesis["slu-hyp"]
    slots = [
        {"name": str(name), "value": "" if value is None else str(value)}
        for act in acts
        for name, value in act["slots"]
    ]
    intent = "+".join(act["act"] for act in acts)
    return {"domain": "bus", "intent": intent, "slots": slots, "score": float(hypothesis["score"])}


def _gold(turns: pa.Table, labels: list[list[dict[str, Any]]]) -> pa.Table:
    """Each hypothesis' truth, and whether the best one is wrong."""
    ids = iter(hex_id(flatten(turns["interpretations"]).candidate_id))
    rows: list[dict[str, Any]] = []
    places = turns["source"].to_pylist()
    for turn_id, place, hypotheses in zip(turns["turn_id"].to_pylist(), places, labels, strict=True):
        label = partial(_label, turn_id, place)
        truth: dict[str, tuple[bool, str]] = {}
        for rank, hypothesis in enumerate(hypotheses):
            candidate = next(ids)
            if "expl" in hypothesis["detailed-label"]:
                continue
            source = f"{hypothesis['status']}/{hypothesis['label-source']}/{hypothesis['detailed-label']}"
            right = bool(hypothesis["label"])
            known = truth.get(candidate, (False, source))
            truth[candidate] = (True, source) if right else known
            if rank == 0:
                rows.append(label("wrong_interpretation", None, not right, source))
        rows += [label("right_interpretation", c, v, s) for c, (v, s) in truth.items()]
    return pa.Table.from_pylist(rows, schema=GOLD.schema)


def _label(
    turn_id: str, place: dict[str, Any], definition: str, candidate: str | None, value: bool, source: str
) -> dict[str, Any]:
    return {
        "turn_id": turn_id,
        "definition": definition,
        "candidate_id": candidate,
        "value": float(value),
        "raters": None,
        "source": source,
        "read_from": place,
        "available_at": None,
    }
