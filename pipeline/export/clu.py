"""Azure Conversational Language Understanding: a project to import. Offsets and lengths are UTF-16 code units."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any, Final

from pipeline import storage
from pipeline.export.names import Names
from pipeline.export.utterances import UNKNOWN_LOCALE, Splits, Utterance

FILE: Final = "project.json"
_VERSION: Final = "2023-04-01"
_NAME: Final = "afterword"
# Longest utterance and name that the service takes.
_MOST_TEXT: Final = 500
_DEFAULT_LANGUAGE: Final = "en-us"
_DATASETS: Final = {"train": "Train", "test": "Test"}


def write(splits: Splits, names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The file, by name; the service takes every name. `dataset` of an utterance is Train or Test."""
    parts = {s: [row for row in rows if units(row.text) <= _MOST_TEXT] for s, rows in splits.items()}
    fit = list(chain.from_iterable(parts.values()))
    told["rows.too_long"] += sum(map(len, splits.values())) - len(fit)
    told["rows.written"] += len(fit)
    languages = Counter(language(row) for row in fit)
    # The most frequent one, then the first by name.
    main = min(languages, key=lambda name: (-languages[name], name), default=_DEFAULT_LANGUAGE)
    project = {
        "projectFileVersion": _VERSION,
        "stringIndexType": "Utf16CodeUnit",
        "metadata": {
            "projectKind": "Conversation",
            "projectName": _NAME,
            "description": "",
            "language": main,
            "multilingual": len(languages) > 1,
            "settings": {"confidenceThreshold": 0.0},
        },
        "assets": {
            "projectKind": "Conversation",
            "intents": [{"category": name} for name in sorted({row.intent for row in fit})],
            "entities": [{"category": name} for name in sorted({s.name for row in fit for s in row.spans})],
            "utterances": [_utterance(row, _DATASETS[s]) for s, rows in parts.items() for row in rows],
        },
    }
    return {FILE: storage.readable_json(project)}


def units(text: str) -> int:
    """UTF-16 code units of a text."""
    return len(text) + sum(c > "\uffff" for c in text)


def language(row: Utterance) -> str:
    """Language of a row, in the lower case that the service uses."""
    return _DEFAULT_LANGUAGE if row.locale == UNKNOWN_LOCALE else row.locale.replace("_", "-").lower()


def _utterance(row: Utterance, dataset: str) -> dict[str, Any]:
    entities = [
        {
            "category": span.name,
            "offset": units(row.text[: span.start]),
            "length": units(row.text[span.start : span.end]),
        }
        for span in row.spans
    ]
    return {
        "text": row.text,
        "language": language(row),
        "intent": row.intent,
        "dataset": dataset,
        "entities": entities,
    }
