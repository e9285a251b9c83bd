"""An explanation as text for people: what it is, the dialog, the judgement, and what became of it."""

from __future__ import annotations

from typing import Any

from pipeline.explain.layout import clean, counted, figure, listed, reading, section, short, wrapped
from pipeline.explain.phrases import phrase
from pipeline.explain.render_turn import candidates, dialog, judgement
from pipeline.explain.render_votes import became, same_words, where


def render(told: dict[str, Any], turns: bool = False) -> str:
    """Text of what `gather.explain` found.

    Parameters
    ----------
    told : dict
    turns : bool
        Whether the ids of the turns behind it are listed; other users' turns are counted only, otherwise.
    """
    notes = [line for note in told["notes"] for line in wrapped(note, "note: ")]
    if told["kind"] == "example":
        body = _example(told, turns)
    elif "behind" in told:
        body = _of_turn(told, turns)
    else:
        body = _turn(told, turns)
    return "\n".join([*notes, *body, *section("Gates", _gates(told["gates"])), *_release(told["release"])])


def _example(told: dict[str, Any], turns: bool) -> list[str]:
    example = told["example"]
    lines = [f"example {example['example_id']}", *_label(example)]
    if told.get("turns"):
        lines += section("The turns behind it", _behind(told["turns"]))
    if turns:
        lines += section("Their ids", _ids(example["provenance"]))
    if told.get("typical"):
        lines += ["", "A typical one of them, whose wording the example has:", ""]
        lines += _turn(told["typical"] | {"release": told["release"]}, turns=False)
    return lines + ([] if told.get("typical") else section("Where it went", where(told["places"])))


def _of_turn(told: dict[str, Any], turns: bool) -> list[str]:
    """A turn of which the release alone tells: the examples that it is behind."""
    lines = [f"turn {clean(told['id'])}"]
    for one in told["behind"]:
        does = "It votes for" if one["role"] == "voted" else "It supports a correction in"
        lines += ["", f"{does} this example:", "", *_example(one, turns)]
    return lines


def _label(example: dict[str, Any]) -> list[str]:
    needs, behind = example["needs"], example["provenance"]
    blame = "" if example["blame"] == "none" else f"; to blame: {example['blame']}"
    return [
        *wrapped(f'"{short(example["utterance"])}"'),
        *wrapped(reading(example), "  -> ", "     "),
        *wrapped(
            f"{example['kind']}{blame}; split {example['split']}, locale {example['locale'] or 'not logged'}; "
            f"confidence {example['confidence']:.2f}, weight {example['weight']:.2f}; "
            f"{'certified' if example['certified'] else 'not certified'}"
        ),
        *wrapped(
            f"supported by {counted(example['support'], 'user')} ({needs['min_users']} wanted), agreement "
            f"{figure(example['agreement'])} ({needs['min_agreement']:.2f} wanted), in "
            f"{counted(len(behind['turn_ids']), 'turn')}; later turns that support corrections: "
            f"{len(behind['supporting_turns'])}"
        ),
    ]


def _behind(turns: dict[str, Any]) -> list[str]:
    first, last = turns["event_time"]
    kinds = ", ".join(counted(n, kind) for kind, n in turns["kinds"].items())
    lines = wrapped(f"{kinds} of {counted(turns['users'], 'user')}; {first} .. {last}") if kinds else []
    low, high = turns["p_defect"]
    if low is not None:
        blames = f" (to blame: {listed(turns['blames'])})" if turns["blames"] else ""
        lines += wrapped(f"judged defective: {turns['defective']:,}{blames}; p(defect) {low:.2f} to {high:.2f}")
    if turns["strongest_signal"]:
        strongest = "; ".join(f"{phrase(name).text} ({n:,})" for name, n in turns["strongest_signal"].items())
        lines += wrapped(f"strongest signal: {strongest}")
    if turns["found"] < turns["count"]:
        lines += wrapped(
            f"{turns['found']:,} of its {turns['count']:,} turns vote in this run; the others came with an earlier "
            "release, or this code does not count them"
        )
    return lines


def _ids(provenance: dict[str, Any]) -> list[str]:
    lines = wrapped(" ".join(clean(t) for t in provenance["turn_ids"]))
    if provenance["supporting_turns"]:
        lines += wrapped(f"supported by {' '.join(clean(t) for t in provenance['supporting_turns'])}")
    return lines


def _turn(told: dict[str, Any], turns: bool) -> list[str]:
    turn = told["turn"]
    about = [turn["event_time"], turn["domain"] or "no domain", turn["locale"], turn["channel"], turn["policy"]]
    lines = [
        f"turn {clean(turn['turn_id'])}" + (f" of {clean(turn['subject_id'])}" if turn["subject_id"] else ""),
        *wrapped(f'"{short(turn["utterance"])}"'),
        *wrapped(", ".join(clean(a) for a in about if a)),
        *wrapped(f"read from {clean(turn['source']['uri'])}, line or row {turn['source']['position']}"),
    ]
    release = told["release"]
    lines += section(_of_session(told["session"]), dialog(told["dialog"]))
    lines += section("Why it was judged so", judgement(told["judgement"], release))
    if told["judgement"]["is_defect"]:
        lines += section("What may have been meant instead", candidates(told["candidates"]))
    lines += section("Who else said it", same_words(told["same_words"], turns))
    return lines + section("What became of it", became(told["became"], told["judgement"], told["same_words"], release))


def _of_session(session: dict[str, Any]) -> str:
    return f"The dialog around it (turn {session['at']:,} of {session['turns']:,} of the session)"


def _gates(gates: list[dict[str, Any]]) -> list[str]:
    failed = [clean(gate["gate"]) for gate in gates if not gate["passed"]]
    passed = [clean(gate["gate"]) for gate in gates if gate["passed"]]
    lines = wrapped(f"failed: {'; '.join(failed)}") if failed else []
    return lines + (wrapped(f"passed: {'; '.join(passed)}") if passed else [])


def _release(release: dict[str, Any]) -> list[str]:
    standing = "current" if release["is_current"] else "not the current one"
    return ["", f"release {release['release_id']}", f"  {standing}; {release['folder']}"]
