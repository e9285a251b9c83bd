"""A tiny made-up corpus: eight intents of three domains, each with words of its own and words that two share."""

from __future__ import annotations

from bench.loop.corpus import Corpus, corpus

_WISHES = {
    ("alarm", "set"): ("wake me at {}", "alarm for {}", "get me up by {}"),
    ("alarm", "stop"): ("drop the alarm of {}", "no alarm at {}", "silence {} alarm"),
    ("light", "on"): ("lamp {} bright", "switch {} lamp on", "I need light in {}"),
    ("light", "off"): ("lamp {} dark", "switch {} lamp off", "black out {}"),
    ("light", "dim"): ("dim {}", "softer light in {}", "lamp {} lower"),
    ("music", "play"): ("play {}", "put on some {}", "I would hear {}"),
    ("music", "next"): ("skip {}", "another song than {}", "next after {}"),
    ("music", "loud"): ("{} louder", "volume up for {}", "I cannot hear {}"),
}
_FILLERS = tuple(a + b for a in ("bo", "ka", "li", "mu", "ne", "po", "ra", "su") for b in ("lan", "mer", "tik", "dos"))


def made_up() -> Corpus:
    """768 rows; folds 1 to 4."""
    rows = []
    for (domain, intent), patterns in _WISHES.items():
        for k, filler in enumerate(_FILLERS):
            rows += [(p.format(filler), domain, intent, 1 + (k + j) % 4) for j, p in enumerate(patterns)]
    return corpus(rows)
