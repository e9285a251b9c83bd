"""A turn's dialog, its judgement and its candidates as text."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.layout import clean, clock, counted, reading, short, wrapped
from pipeline.explain.phrases import phrase
from pipeline.thresholds import of_domain, threshold_words
from schemas import TOOL_DOMAIN

# The strongest signals shown; the rest, each of a small share, is in JSON.
SIGNALS_SHOWN: Final = 5
FIRED_SHOWN: Final = 3
CANDIDATES_SHOWN: Final = 3
# Of a context: most of what a request refers to was said just before.
CONTEXT_SHOWN: Final = 6
_SOURCES: Final = {
    "n-best": "one of the turn's own readings (n-best)",
    "rephrase": "the reading of a later turn",
    "chain": "what other users who said these words and were read so went on to",
    "confirmed": "a reading whose values the user confirmed later",
    "reviewer": "a reviewer's",
}
_INDENT: Final = 20
_MARKS: Final = (
    (">", "is_this", "this turn"),
    ("!", "is_defect", "judged defective"),
    ("*", "gives", "the correction is its reading"),
    ("+", "supports", "supports the correction"),
    ("c", "in_context", "stands before it in the sft view"),
)
# What each blame rests on; see `models.blame`.
_BLAMES: Final = {
    "asr": "the recogniser was in doubt",
    "intent": "a likelier reading has another intent or other slots, or its own have too little of the score",
    "slots": "a likelier reading has other values, or its intent and slots have most of the score",
    "action": "there is no other reading",
    "unsupported": "the system said that it cannot do that",
}


def dialog(lines: list[dict[str, Any]]) -> list[str]:
    """The turns around, marked by what they are to this one."""
    out: list[str] = []
    before: dict[str, Any] | None = None
    read = any(line["reading"] and line["reading"]["domain"] != TOOL_DOMAIN for line in lines)
    for line in _shown(lines):
        if before is not None and line["number"] > before["number"] + 1:
            out.append("   ...")
        # The prompt, unless it is the answer just shown.
        answered = before["response"] if before else None
        if line["prompt"] and clean(line["prompt"]) != clean(answered):
            out += _said("", "", "system", short(line["prompt"]))
        out += _said(
            _marks(line), clock(line["seconds"]), "user", f'"{short(line["utterance"])}"{_reading(line, read)}'
        )
        if line["response"]:
            out += _said("", "", "system", short(line["response"]))
        before = line
    used = "".join(_marks(line) for line in lines)
    return [*out, *wrapped("   ".join(f"{mark} {words}" for mark, _, words in _MARKS if mark in used))]


def _shown(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the turns of a long context that are farthest away."""
    this = next(line["number"] for line in lines if line["is_this"])
    return [line for line in lines if this - line["number"] <= CONTEXT_SHOWN]


def _reading(line: dict[str, Any], read: bool) -> str:
    """What the turn was taken for. Where no turn has a reading of an NLU, the system answers in words or by calls."""
    held = line["reading"]
    does = "call" if held is not None and held["domain"] == TOOL_DOMAIN else "read as"
    taken = "" if held is None and not read and line["response"] else f"  {does} {reading(held)}"
    return taken + (f"  p(defect) {line['p_defect']:.2f}" if line["is_defect"] else "")


def _marks(line: dict[str, Any]) -> str:
    held = "".join(mark for mark, name, _ in _MARKS if line[name])
    # A turn that gives the correction supports it.
    return held.replace("*+", "*")


def _said(marks: str, time: str, who: str, text: str) -> list[str]:
    return wrapped(text, f"{marks:<3}{time:>8} {who:>6}  ", " " * _INDENT)


def context(turns: list[dict[str, Any]]) -> list[str]:
    """The turns before an answer, as an example holds them."""
    out = [f"  {counted(len(turns) - CONTEXT_SHOWN, 'turn')} before"] if len(turns) > CONTEXT_SHOWN else []
    for turn in turns[-CONTEXT_SHOWN:]:
        call = {"domain": TOOL_DOMAIN, "intent": turn["tool"], "slots": turn["arguments"]}
        called = "" if turn["tool"] is None else f"  call {reading(call)}"
        out += _said("", "", "user", f'"{short(turn["utterance"])}"{called}')
        out += _said("", "", "system", short(turn["response"]))
    return out


def judgement(told: dict[str, Any], release: dict[str, Any]) -> list[str]:
    """The probability, the threshold and how it was set, and the signals that moved it most."""
    lines = wrapped(f"p(defect) {told['p_defect']:.3f}, {_side(told)}")
    known = threshold_words(of_domain(release["thresholds"]["defect"], told["domain"]))
    lines += wrapped(f"threshold: {known} Learned from {release['labels']}.")
    if told["signals"]:
        lines += ["  log-odds  share   (+ speaks for a defect, - against; share of all that moved it)"]
    for signal in told["signals"][:SIGNALS_SHOWN]:
        lines += _signal(signal)
    shown = {signal["signal"] for signal in told["signals"][:SIGNALS_SHOWN]}
    also = [f["meaning"] for f in told["fired"] if f["signal"] not in shown][:FIRED_SHOWN]
    return lines + (wrapped(f"also: {'. '.join(also)}.") if also else [])


def _side(told: dict[str, Any]) -> str:
    if not told["is_defect"]:
        return "under the threshold: not defective"
    known = "certified" if told["certified"] else "not certified"
    blame = f"{told['blame']} ({_BLAMES.get(told['blame'], 'see docs/records.md')})"
    return f"at or over the threshold: defective, {known}; to blame: {blame}"


def _signal(signal: dict[str, Any]) -> list[str]:
    share = "" if signal["share"] is None else f"{signal['share']:.0%}"
    # Without the model only what the judgement itself holds is known.
    value = "" if signal["share"] is None else f": {phrase(signal['signal']).value(signal['value'])}"
    return wrapped(f"{signal['meaning']}{value}", f"{signal['contribution']:+10.2f}{share:>7}   ")


def candidates(told: list[dict[str, Any]], lines: list[dict[str, Any]]) -> list[str]:
    """What was considered, likeliest first: the best with the reason why it was or was not accepted."""
    if not told:
        return wrapped("nothing: there is no other reading of it, and no later turn that says it otherwise")
    words = {line["turn_id"]: line["utterance"] for line in lines}
    out = _best(told[0], words)
    others = [f"{reading(c['interpretation'], score=False)} {c['p_correct']:.3f}" for c in told[1:CANDIDATES_SHOWN]]
    more = len(told) - CANDIDATES_SHOWN
    return out + (
        wrapped("; ".join(["less likely: " + others[0], *others[1:], *[f"{more} more"] * (more > 0)])) if others else []
    )


def _best(candidate: dict[str, Any], words: dict[str, str]) -> list[str]:
    known = ", certified" if candidate["certified"] else ""
    failed = "; ".join(candidate["failed"]) or "by a rule that these tables do not show"
    verdict = f"accepted{known}" if candidate["accepted"] else f"not accepted: {failed}"
    behind = " (it is less likely than what was acted on)" if candidate["margin"] < 0 else ""
    source, later = candidate["taken_from"], [t for t in candidate["supporting_turns"] if t != candidate["taken_from"]]
    found = (
        f"the reading of a later turn, {_quoted(source, words)}" if source else _SOURCES.get(candidate["source"], "")
    )
    mark = "->" if candidate["accepted"] else "likeliest:"
    out = wrapped(f"{mark} {reading(candidate['interpretation'], score=False)}", "  ", "     ")
    out += wrapped(
        f"p(correct) {candidate['p_correct']:.3f}, lead {candidate['margin']:+.3f}{behind}: {verdict}", " " * 5
    )
    out += wrapped(found or f"from {candidate['source']}", " " * 5)
    return out + [line for turn in later for line in wrapped(f"supported by {_quoted(turn, words)}", " " * 5)]


def _quoted(turn: str, words: dict[str, str]) -> str:
    return f'{clean(turn)}: "{short(words[turn])}"' if turn in words else clean(turn)
