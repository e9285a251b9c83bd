"""Rows of a release's `nlu` view as the exports write them: a text, its intent, and slots that do not overlap."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

COLUMNS: Final = ("id", "text", "domain", "intent", "slots", "tokens", "ner_tags", "locale")
# A locale that was not logged, by BCP 47.
UNKNOWN_LOCALE: Final = "und"
# What stands in no locale's tag, and must not in the name of a file.
_NO_TAG: Final = re.compile(r"[^0-9A-Za-z_-]+")


@dataclass(frozen=True)
class Span:
    """A slot that stands in the text, half-open in code points."""

    name: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Utterance:
    """One row.

    Attributes
    ----------
    id, text : str
    intent : str
        With its domain before it where several domains of the release have an intent of this name.
    domain : str or None
    locale : str
    spans : tuple of Span
        In order, none over another.
    tokens, tags : tuple of str
        Whitespace tokens and their BIO tags.
    """

    id: str
    text: str
    intent: str
    domain: str | None
    locale: str
    spans: tuple[Span, ...]
    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    def parts(self) -> Iterator[tuple[str, Span | None]]:
        """The text in pieces, each with the slot that it is the text of, or none."""
        at = 0
        for span in self.spans:
            if span.start > at:
                yield self.text[at : span.start], None
            yield self.text[span.start : span.end], span
            at = span.end
        if at < len(self.text):
            yield self.text[at:], None


# Rows of each split, in the order of `schemas.SPLITS`.
Splits = Mapping[str, Sequence[Utterance]]
Labels = Mapping[tuple[str | None, str], str]


def utterances(table: pa.Table, labels: Labels, told: Counter[str]) -> list[Utterance]:
    """NLU rows by id; `told` counts slots that have no annotation, by reason.

    Parameters
    ----------
    table : pyarrow.Table
        NLU rows, at least `COLUMNS`.
    labels : mapping
        What `labels_of` gives for the whole release.
    told : Counter
        Gets `slots` and `slots.no_span`, `slots.overlap`, `slots.no_name` of them.
    """
    rows = table.select(COLUMNS).sort_by("id").to_pylist()
    return [
        Utterance(
            row["id"],
            row["text"],
            labels[row["domain"], row["intent"]],
            row["domain"],
            _NO_TAG.sub("_", row["locale"] or UNKNOWN_LOCALE),
            tuple(spans(json.loads(row["slots"]), told)),
            tuple(row["tokens"]),
            tuple(row["ner_tags"]),
        )
        for row in rows
    ]


def spans(slots: Iterable[dict[str, Any]], told: Counter[str]) -> list[Span]:
    """Slots that can be marked in the text, in order; of two that overlap the first in the list stays."""
    kept: list[Span] = []
    for slot in slots:
        told["slots"] += 1
        if not slot["name"]:
            told["slots.no_name"] += 1
        elif slot["start"] is None:
            told["slots.no_span"] += 1
        elif any(slot["start"] < other.end and other.start < slot["end"] for other in kept):
            told["slots.overlap"] += 1
        else:
            kept.append(Span(slot["name"], slot["value"] or "", slot["start"], slot["end"]))
    return sorted(kept, key=lambda span: span.start)


def labels_of(tables: Iterable[pa.Table]) -> dict[tuple[str | None, str], str]:
    """Name of each (domain, intent); formats have one space of names for the intents of all domains.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        NLU rows of all splits of a release, at least `domain` and `intent`: a name must not hang on the split.
    """
    pairs = _pairs(tables)
    domains = Counter(intent for _, intent in pairs)
    plain = {pair: pair[1] for pair in pairs if domains[pair[1]] == 1 or pair[0] is None}
    out, taken = dict(plain), set(plain.values())
    for domain, intent in sorted(((d or "", i) for d, i in pairs - plain.keys())):
        name, k = f"{domain}_{intent}", 1
        while name in taken:
            k += 1
            name = f"{domain}_{intent}_{k}"
        taken.add(name)
        out[domain, intent] = name
    return out


def count_with_domain(tables: Iterable[pa.Table], labels: Labels, told: Counter[str]) -> None:
    """Count the intents of some rows that have their domain before their name, each once: `intents.with_domain`."""
    told["intents.with_domain"] += sum(labels[pair] != pair[1] for pair in _pairs(tables))


def _pairs(tables: Iterable[pa.Table]) -> set[tuple[str | None, str]]:
    """Every (domain, intent)."""
    held = pa.concat_tables(table.select(["domain", "intent"]) for table in tables).group_by(["domain", "intent"])
    return {(row["domain"], row["intent"]) for row in held.aggregate([]).to_pylist()}
