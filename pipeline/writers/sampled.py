"""Rows of the views as gates look at them: how long each side is, and whether what has to be well formed is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from pipeline import storage
from pipeline.writers.views import VIEWS
from schemas import VIEW_SAMPLE

Row = dict[str, Any]


def view_sample(folder: str, files: Iterable[Mapping[str, Any]], wished: int) -> pa.Table:
    """VIEW_SAMPLE rows: of each shard the first, of lowest id, and so at random, as many of each view.

    Parameters
    ----------
    folder : str
        Where the files of the release lie.
    files : iterable of dict
        FILE rows.
    wished : int
        Rows of all views together, about.
    """
    rows: list[Row] = []
    for file, each in _drawn(files, wished):
        name = file["path"].split("/")[0]
        with storage.open_parquet(storage.join(folder, file["path"])) as held:
            batch = next(held.iter_batches(each), None)
        rows += [_looked_at(name, VIEWS[name].record.key[0], row) for row in (batch.to_pylist() if batch else ())]
    return pa.Table.from_pylist(rows, schema=VIEW_SAMPLE.schema)


def sampled_rows(files: Iterable[Mapping[str, Any]], wished: int) -> int:
    """How many rows `view_sample` has to have, by what was counted as the files were written."""
    return sum(min(each, file["rows"]) for file, each in _drawn(files, wished))


def _drawn(files: Iterable[Mapping[str, Any]], wished: int) -> list[tuple[Mapping[str, Any], int]]:
    """Files of views, and how many rows of each are looked at."""
    held = [f for f in files if f["path"].split("/")[0] in VIEWS]
    return [(file, max(1, wished // max(len(held), 1))) for file in held]


def _looked_at(view: str, key: str, row: Row) -> Row:
    prompt, completion, well_formed = _LOOKS[view](row)
    return {
        "row": f"{view}/{row[key]}",
        "view": view,
        "prompt_length": len(prompt.strip()),
        "completion_length": len(completion.strip()),
        "well_formed": well_formed,
    }


def _nlu(row: Row) -> tuple[str, str, bool]:
    return row["text"], row["intent"], len(row["tokens"]) == len(row["ner_tags"]) and _is_json(row["slots"], list)


def _sft(row: Row) -> tuple[str, str, bool]:
    *before, last = row["messages"]
    return _said(before), _said([last]), last["role"] == "assistant" and _calls_well(row["messages"])


def _preference(row: Row) -> tuple[str, str, bool]:
    shorter = min(row["chosen"], row["rejected"], key=lambda side: len(_said(side).strip()))
    return _said(row["prompt"]), _said(shorter), row["chosen"] != row["rejected"] and _asks(row["prompt"])


def _kto(row: Row) -> tuple[str, str, bool]:
    return _said(row["prompt"]), _said(row["completion"]), _asks(row["prompt"]) and _calls_well(row["completion"])


def _rl(row: Row) -> tuple[str, str, bool]:
    return _said(row["prompt"]), row["answer"], _asks(row["prompt"]) and _is_json(row["answer"], dict)


def _verl(row: Row) -> tuple[str, str, bool]:
    truth = row["reward_model"]["ground_truth"]
    return _said(row["prompt"]), truth, _asks(row["prompt"]) and _is_json(truth, dict)


def _review(row: Row) -> tuple[str, str, bool]:
    # What was done may be nothing; the turns are what people look up.
    return row["utterance"], " ".join(row["turn_ids"]), _is_json(row["slots"], list)


_LOOKS: Final[dict[str, Callable[[Row], tuple[str, str, bool]]]] = {
    "nlu": _nlu,
    "sft": _sft,
    "preference": _preference,
    "kto": _kto,
    "rl": _rl,
    "verl": _verl,
    "review": _review,
}


def _said(messages: list[Row]) -> str:
    """All that messages say or call."""
    texts = [m["content"] or "" for m in messages]
    return "\n".join(texts + [call["function"]["name"] for m in messages for call in m.get("tool_calls") or []])


def _asks(prompt: list[Row]) -> bool:
    """Whether it is the assistant's turn after a prompt."""
    return bool(prompt) and prompt[-1]["role"] == "user"


def _calls_well(messages: list[Row]) -> bool:
    calls = [call for m in messages for call in m.get("tool_calls") or []]
    return all(_is_json(call["function"]["arguments"], dict) for call in calls)


def _is_json(text: str | None, kind: type) -> bool:
    try:
        return isinstance(json.loads(text or ""), kind)
    except ValueError:
        return False


assert set(_LOOKS) == set(VIEWS)
