"""A turn's dialog, its judgement and its candidates as text."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.layout import clean, clock, reading, short, wrapped
from pipeline.explain.phrases import phrase
from pipeline.writers.card import threshold_words

# The strongest signals shown; the rest, each of a small share, is in JSON.
SIGNALS_SHOWN: Final = 6
FIRED_SHOWN: Final = 6
CANDIDATES_SHOWN: Final = 4
_LABELS: Final = {"system": "system ", "user": "user   ", "reading": "read as"}


def dialog(lines: list[dict[str, Any]]) -> list[str]:
    """The turns around, `>` this one, `!` judged defective, `+` supports the correction."""
    out: list[str] = []
    before: dict[str, Any] | None = None
    for line in lines:
        if before is not None and line["number"] > before["number"] + 1:
            out.append("   ...")
        # The prompt, unless it is the answer just shown.
        answered = before["response"] if before else None
        if line["prompt"] and clean(line["prompt"]) != clean(answered):
            out += _said("   ", "", "system", short(line["prompt"]))
        out += _said(_marks(line), clock(line["seconds"]), "user", f'"{short(line["utterance"])}"')
        doubt = f", p(defect) {line['p_defect']:.2f}" if line["is_defect"] else ""
        out += _said("   ", "", "reading", reading(line["reading"]) + doubt)
        if line["response"]:
            out += _said("   ", "", "system", short(line["response"]))
        before = line
    return [*out, "   > this turn   ! judged defective   + supports a correction of this turn"]


def _marks(line: dict[str, Any]) -> str:
    marks = ((">", line["is_this"]), ("!", line["is_defect"]), ("+", line["supports"]))
    return "".join(mark if holds else " " for mark, holds in marks)


def _said(marks: str, time: str, who: str, text: str) -> list[str]:
    return wrapped(text, f"{marks}{time:>8}  {_LABELS[who]}  ", " " * 22)


def judgement(told: dict[str, Any], release: dict[str, Any]) -> list[str]:
    """The probability, the threshold and how it was set, and the signals that moved it most."""
    side = "at or over" if told["is_defect"] else "under"
    blame = f"; to blame: {told['blame']}" if told["is_defect"] else ""
    known = "certified" if told["certified"] else "not certified"
    head = f"p(defect) {told['p_defect']:.3f}, {side} the threshold {told['threshold']:.3f}"
    lines = wrapped(f"{head}: judged {'defective, ' + known if told['is_defect'] else 'not defective'}{blame}")
    lines += wrapped(f"threshold: {threshold_words(release['thresholds']['defect'])} Learned from {release['labels']}.")
    lines += ["", "  log-odds  share of all that moved it"] if told["signals"] else []
    for signal in told["signals"][:SIGNALS_SHOWN]:
        lines += _signal(signal)
    shown = {signal["signal"] for signal in told["signals"][:SIGNALS_SHOWN]}
    also = [f["meaning"] for f in told["fired"] if f["signal"] not in shown][:FIRED_SHOWN]
    return lines + (["", *wrapped(f"also: {'. '.join(also)}.")] if also else [])


def _signal(signal: dict[str, Any]) -> list[str]:
    share = "" if signal["share"] is None else f"{signal['share']:.0%}"
    # Without the model only what the judgement itself holds is known.
    value = "" if signal["share"] is None else f": {phrase(signal['signal']).value(signal['value'])}"
    named = "" if signal["meaning"] == signal["signal"] else f"  [{signal['signal']}]"
    return wrapped(f"{signal['meaning']}{value}{named}", f"{signal['contribution']:+10.2f}{share:>7}  ")


def candidates(told: list[dict[str, Any]]) -> list[str]:
    """What was considered, likeliest first, and why it was or was not accepted."""
    lines = [] if told else wrapped("Nothing: the turn has no other reading.")
    for candidate in told[:CANDIDATES_SHOWN]:
        known = ", certified" if candidate["certified"] else ""
        verdict = f"accepted{known}" if candidate["accepted"] else f"not accepted: {_failed(candidate)}"
        lines += wrapped(f"{reading(candidate['interpretation'], score=False)}  (from {candidate['source']})")
        lines += wrapped(
            f"p(correct) {candidate['p_correct']:.3f}, lead {candidate['margin']:+.3f}; {verdict}", " " * 6
        )
        support = ", ".join(clean(t) for t in candidate["supporting_turns"])
        lines += wrapped(f"supported by {support or 'no later turn'}", " " * 6)
    if len(told) > CANDIDATES_SHOWN:
        lines.append(f"  and {len(told) - CANDIDATES_SHOWN} more, less likely")
    return lines


def _failed(candidate: dict[str, Any]) -> str:
    return "; ".join(candidate["failed"]) or "by a rule that these tables do not show"
