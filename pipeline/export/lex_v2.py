"""Amazon Lex V2: a bot to import, as a zip. Slots stand in sample utterances as `{Name}`; braces cannot be escaped."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from pipeline import storage
from pipeline.export.names import Names, count_renamed, fitted
from pipeline.export.utterances import UNKNOWN_LOCALE, Utterance

FILE: Final = "afterword.zip"
BOT: Final = "Afterword"
# The earliest date that a zip can hold: the same rows are the same bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
# Every locale of a bot has this intent of Lex's own.
_FALLBACK: Final = "FallbackIntent"
# Names are letters and digits, single `_` or `-` behind them: `([0-9a-zA-Z][_-]?){1,100}`.
_NO_NAME: Final = r"[^0-9A-Za-z]"
_MOST_NAME: Final = 100
_BRACES: Final = re.compile("[{}\x00-\x1f]")
# Of languages that are logged without a country; Lex has only locales with one.
_COUNTRIES: Final = {
    "ar": "AE", "ca": "ES", "de": "DE", "en": "US", "es": "ES", "fi": "FI", "fr": "FR", "hi": "IN", "it": "IT",
    "ja": "JP", "ko": "KR", "nl": "NL", "no": "NO", "pl": "PL", "pt": "BR", "sv": "SE", "zh": "CN", "und": "US",
}  # fmt: skip
_MANIFEST: Final = {"metaData": {"schemaVersion": "1", "fileFormat": "LexJson", "resourceType": "BOT"}}


def write(rows: Sequence[Utterance], names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The zip, by name."""
    intents = fitted(names.intents, _NO_NAME, _MOST_NAME, (_FALLBACK,), alone="intent", leading=False)
    slots = fitted(names.slots, _NO_NAME, _MOST_NAME, alone="slot", leading=False)
    own = [name for name in {row.intent for row in rows} if name.casefold() == _FALLBACK.casefold()]
    count_renamed(rows, told, intents, slots)
    told["intents.reserved"] += len(own)
    told["intents.renamed"] -= len(own)
    locales: dict[str, list[Utterance]] = {}
    for row in rows:
        locales.setdefault(locale(row.locale), []).append(row)
    bot = {"name": BOT, "description": None, "dataPrivacy": {"childDirected": False}, "idleSessionTTLInSeconds": 300}
    files: dict[str, Any] = {"manifest.json": _MANIFEST, f"{BOT}/Bot.json": bot}
    for name, held in sorted(locales.items()):
        files |= _locale(name, held, intents, slots, told)
    return {FILE: zipped({name: storage.readable_json(held) for name, held in files.items()})}


def locale(tag: str) -> str:
    """The name that Lex has for a locale, as en_US."""
    language, _, country = tag.replace("-", "_").partition("_")
    language = "en" if language == UNKNOWN_LOCALE else language
    return f"{language}_{country or _COUNTRIES.get(language, language.upper())}"


def zipped(files: dict[str, bytes]) -> bytes:
    """Files as a zip of the same bytes each time."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return sink.getvalue()


def sample(row: Utterance, slots: dict[str, str], told: Counter[str]) -> str | None:
    """The sample utterance of a row; None where its own words hold a brace.

    Lex takes a slot once an utterance, so its further ones stay words.
    """
    out, used = "", set()
    for text, span in row.parts():
        if span and span.name not in used:
            used.add(span.name)
            out += f"{{{slots[span.name]}}}"
            continue
        told["slots.twice"] += span is not None
        if _BRACES.search(text):
            return None
        out += text
    return out


def _locale(
    name: str, rows: Sequence[Utterance], intents: dict[str, str], slots: dict[str, str], told: Counter[str]
) -> dict[str, Any]:
    base = f"{BOT}/BotLocales/{name}"
    samples: dict[str, dict[str, None]] = {}
    values: dict[str, set[str]] = {}
    used: dict[str, set[str]] = {}
    for row in rows:
        said = sample(row, slots, told)
        held = samples.setdefault(intents[row.intent], {})
        if said is None or said in held:
            told["rows.unmarkable" if said is None else "rows.twice"] += 1
            continue
        told["rows.written"] += 1
        held[said] = None
        for span in row.spans:
            values.setdefault(slots[span.name], set()).add(span.value or row.text[span.start : span.end])
            used.setdefault(intents[row.intent], set()).add(slots[span.name])
    out: dict[str, Any] = {
        f"{base}/BotLocale.json": {"name": name, "identifier": name, "nluConfidenceThreshold": 0.4},
        f"{base}/Intents/{_FALLBACK}/Intent.json": _intent(_FALLBACK, [], [], f"AMAZON.{_FALLBACK}"),
    }
    for intent, lines in samples.items():
        if lines:
            own = sorted(used.get(intent, ()))
            out[f"{base}/Intents/{intent}/Intent.json"] = _intent(intent, list(lines), own, None)
            out |= {f"{base}/Intents/{intent}/Slots/{slot}/Slot.json": _slot(slot) for slot in own}
    return out | {f"{base}/SlotTypes/{slot}/SlotType.json": _type(slot, held) for slot, held in values.items()}


def _intent(name: str, samples: list[str], slots: list[str], parent: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "identifier": None,
        "description": None,
        "parentIntentSignature": parent,
        "sampleUtterances": [{"utterance": text} for text in samples],
        "slotPriorities": [{"priority": k, "slotName": slot} for k, slot in enumerate(slots)],
    }


def _slot(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "identifier": None,
        "description": None,
        "slotTypeName": name,
        "valueElicitationSetting": {"slotConstraint": "Optional", "promptSpecification": None},
    }


def _type(name: str, values: set[str]) -> dict[str, Any]:
    return {
        "name": name,
        "identifier": None,
        "description": None,
        "slotTypeValues": [{"sampleValue": {"value": value}, "synonyms": None} for value in sorted(values)],
        "valueSelectionSetting": {"resolutionStrategy": "ORIGINAL_VALUE"},
    }
