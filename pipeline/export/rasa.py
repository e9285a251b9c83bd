"""Rasa 3.x: `nlu.yml`.

An entity is written `[text]{"entity": ..., "value": ...}`; Rasa has no way to escape brackets. So each line is read
back as Rasa would: one that comes out otherwise is written without values, else without entities, else left out, and
counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pipeline.export.names import Names, count_renamed, fitted
from pipeline.export.utterances import Span, Utterance

FILE: Final = "nlu.yml"
# `[text](entity:value)` or `[text]{"entity": ...}`, as Rasa's own reader finds them.
_ENTITY: Final = re.compile(
    r"\[(?P<text>[^\]]+?)\](?:\((?P<name>[^:)]+?)(?::(?P<value>[^)]+))?\)|\{(?P<held>[^}]+?)\})"
)
# Ends of lines, of which an example is one, and what YAML cannot hold.
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# A slash makes a retrieval intent.
_NO_INTENT: Final = r"[/\x00-\x1f\x7f-\x9f\u2028\u2029]"

Entity = tuple[str, str, int, int]


def write(rows: Sequence[Utterance], names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The file, by name."""
    intents = fitted(names.intents, _NO_INTENT)
    count_renamed(rows, told, intents)
    lines: dict[str, list[str]] = {name: [] for name in sorted(intents.values())}
    for row in rows:
        line = example(row, told)
        if line is not None:
            lines[intents[row.intent]].append(f"    - {line}\n")
    blocks = [f"- intent: {_scalar(name)}\n  examples: |\n{''.join(held)}" for name, held in lines.items() if held]
    return {FILE: ('version: "3.1"\n\nnlu:\n' + "\n".join(blocks)).encode()}


def example(row: Utterance, told: Counter[str]) -> str | None:
    """The line of an utterance; None if Rasa would read another text from any."""
    text, blanks = _UNPRINTABLE.subn(" ", row.text)
    told["rows.blanks"] += bool(blanks)
    for spans, valued in ((row.spans, True), (row.spans, False), ((), False)):
        line = _marked(text, spans, valued)
        kept = text.strip("\n\r ")
        shift = len(text) - len(text.lstrip("\n\r "))
        wanted = [
            (s.name, s.value if valued and s.value else text[s.start : s.end], s.start - shift, s.end - shift)
            for s in spans
        ]
        if parse(line) == (kept, wanted):
            told["rows.written"] += 1
            told["slots.unmarkable"] += len(row.spans) - len(spans)
            return line.strip("\n\r ")
    told["rows.unmarkable"] += 1
    return None


def parse(line: str) -> tuple[str, list[Entity]]:
    """Text and entities (name, value, start, end) of a line, as Rasa reads them."""
    text, entities, at = "", [], 0
    line = line.strip("\n\r ")
    for match in _ENTITY.finditer(line):
        text += line[at : match.start()]
        held = {"entity": match["name"]} | ({"value": match["value"]} if match["value"] else {})
        if match["held"]:
            try:
                held = json.loads(f"{{{match['held']}}}")
            except ValueError:
                held = {}
        start = len(text)
        text += match["text"]
        entities.append((str(held.get("entity")), str(held.get("value", match["text"])), start, len(text)))
        at = match.end()
    return text + line[at:], entities


def _marked(text: str, spans: Sequence[Span], valued: bool) -> str:
    out, at = "", 0
    for span in spans:
        said = text[span.start : span.end]
        held = {"entity": span.name}
        if valued and span.value and span.value != said:
            held["value"] = span.value
        marks = json.dumps(held, ensure_ascii=False)
        if _UNPRINTABLE.search(marks):
            marks = json.dumps(held)
        out += f"{text[at : span.start]}[{said}]{marks}"
        at = span.end
    return out + text[at:]


def _scalar(name: str) -> str:
    """A name as YAML: plain where no reader could take it for something else, else quoted."""
    plain = re.fullmatch(r"[A-Za-z][\w.]*", name, re.ASCII) and name.lower() not in _WORDS
    return name if plain else json.dumps(name, ensure_ascii=False)


_WORDS: Final = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
