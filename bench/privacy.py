"""Redaction: recall and precision a type on a synthetic set, beside Presidio as it comes, and what it costs ingest.

    make bench-privacy OUT=out/privacy.json
    python -m bench.privacy [--count 300] [--turns 100000] [--out out/privacy.json]

Keys: `privacy.<TYPE>.recall` (share of the values of which no letter is left), `.precision` (share of what was taken
for the type that holds a value of it), `privacy.<TYPE>.<form>.recall`, each with `.baseline.`;
`privacy.look_alike.<form>` (share of the sentences without a value that are redacted all the same);
`privacy.ingest.ratio` (processor seconds of ingest with redaction to those without, on turns without a value,
alternating in one process).
"""

from __future__ import annotations

import argparse
import io
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.made_up_pii import TYPES, Sentence, sentences
from pipeline import storage
from pipeline.privacy import PrivacyOptions
from pipeline.privacy.find import Finder
from pipeline.privacy.finding import Finding, merged
from pipeline.privacy.recognisers import presidio

Find = Callable[[str], list[Finding]]
PAIRS: Final = 3
# Presidio has no recogniser of street addresses; its own defaults else, and its lowest useful score.
_STOCK: Final = ("PhoneRecognizer", "CreditCardRecognizer", "IbanRecognizer", "IpRecognizer", "UsSsnRecognizer")
_STOCK_SCORE: Final = 0.3


def stock() -> Find:
    """Presidio's recognisers as they come, but for the list of public suffixes: theirs is fetched, ours ships."""
    import tldextract

    suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    class Email(presidio().EmailRecognizer):  # type: ignore[misc]
        def validate_result(self, pattern_text: str) -> bool:
            return bool(suffixes(pattern_text).fqdn)

    held = [Email(), *(getattr(presidio(), name)() for name in _STOCK)]

    def find(text: str) -> list[Finding]:
        results = [r for h in held for r in h.analyze(text, h.supported_entities, nlp_artifacts=None)]
        return merged(Finding(r.start, r.end, r.entity_type, r.score) for r in results if r.score >= _STOCK_SCORE)

    return find


def figures(made: list[Sentence], find: Find, name: str) -> dict[str, float]:
    """Recall and precision by type, recall by form, and the share of look-alikes that are taken."""
    values: dict[str, list[bool]] = defaultdict(list)
    taken: dict[str, list[bool]] = defaultdict(list)
    alike: dict[str, list[bool]] = defaultdict(list)
    for s in made:
        found = find(s.text)
        for f in found:
            taken[f.type].append(f.type == s.type and f.start < s.end and s.start < f.end)
        if s.type is None:
            alike[s.form].append(bool(found))
            continue
        end = s.end - s.text[: s.end].endswith(".")
        gone = any(f.start <= s.start and f.end >= end for f in found)
        values[s.type].append(gone)
        values[f"{s.type}.{s.form}"].append(gone)
    out = {f"{key}.{name}recall": _mean(held) for key, held in values.items()}
    out |= {f"{key}.{name}precision": _mean(held) for key, held in taken.items()}
    return out | {f"look_alike.{form}{'.' + name[:-1] if name else ''}": _mean(held) for form, held in alike.items()}


def _mean(held: list[bool]) -> float:
    return round(sum(held) / len(held), 4)


def log(turns: int, folder: Path) -> None:
    """Turns without a value, among them numbers, times and routes as people say them."""
    draw = random.Random(5)
    said = (
        "play {} by the {}",
        "set an alarm for {}:30",
        "bus 61{} please",
        "turn on light {}",
        "is {} warmer than {}",
    )
    words = ("jazz", "rome", "7", "12", "kitchen", "C", "tomorrow", "news", "18", "friday", "blue", "oslo")
    with (folder / "a.jsonl").open("w", encoding="utf-8") as out:
        for k in range(turns):
            text = (
                draw.choice(said).replace("{}", draw.choice(words), 1).format(draw.choice(words))
                + f" {draw.choice(words)}"
            )
            row = {
                "turn_id": f"t{k}",
                "user_id": f"u{k // 20}",
                "event_time": f"2026-03-{k % 28 + 1:02d}T{k % 24:02d}:{k % 60:02d}:00Z",
                "utterance": text,
                "asr": [{"text": text, "confidence": 0.9}],
                "interpretations": [
                    {
                        "domain": "d",
                        "intent": f"i{k % 9}",
                        "score": 0.9,
                        "slots": [{"name": "x", "value": draw.choice(words)}],
                    }
                ],
                "executed": 0,
                "response": f"Okay, {draw.choice(words)} at {k % 12}:15.",
            }
            out.write(json.dumps(row) + "\n")


def cost(turns: int) -> dict[str, float]:
    """Processor seconds of stage ingest with and without redaction, in turn; the least of each counts.

    Those of the processor, as another program on the machine would tell more than what is measured.
    """
    from pipeline.config import load
    from pipeline.jobs import ingest
    from pipeline.jobs.context import Context
    from pipeline.progress import Progress
    from pipeline.workspace import Workspace

    seconds: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        log(turns, folder / "in")
        for redact in [False, True] * (PAIRS + 1):
            config = load(None, [f"privacy.redact={str(redact).lower()}"])
            context = Context(Workspace(str(folder / "out")), config, progress=Progress(io.StringIO()))
            begin = time.process_time()
            ingest.run(context, str(folder / "in"), "canonical")
            seconds[redact].append(time.process_time() - begin)
    # The first pair warms up.
    with_it, without = (min(seconds[redact][1:]) for redact in (True, False))
    return {
        "ingest.turns": turns,
        "ingest.seconds": round(with_it, 3),
        "ingest.baseline.seconds": round(without, 3),
        "ingest.ratio": round(with_it / without, 3),
    }


def table(found: dict[str, Any]) -> str:
    """The figures by type as Markdown."""
    lines = ["| type | recall | precision | Presidio as it comes: recall | precision |", "|---|---|---|---|---|"]
    for type in TYPES:
        cells = [
            found.get(f"privacy.{type}.{k}") for k in ("recall", "precision", "baseline.recall", "baseline.precision")
        ]
        lines.append(f"| `{type}` | {' | '.join('' if c is None else f'{c:.3f}' for c in cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="sentences a form")
    parser.add_argument(
        "--turns", type=int, default=100_000, help="turns of the log that the cost is measured on; 0 = not"
    )
    parser.add_argument("--out", default="out/privacy.json")
    arguments = parser.parse_args()
    made = sentences(arguments.count)
    finder = Finder(PrivacyOptions())
    found: dict[str, Any] = {"sentences": len(made)}
    found |= figures(made, finder.find, "") | figures(made, stock(), "baseline.")
    if arguments.turns:
        found |= cost(arguments.turns)
    told = {f"privacy.{key}": found[key] for key in sorted(found)}
    out = Path(arguments.out)
    storage.write_bytes(str(out), storage.readable_json(told))
    print(table(told))
    print(json.dumps({k: v for k, v in told.items() if "ingest" in k or "sentences" in k}, indent=2))


if __name__ == "__main__":
    main()
