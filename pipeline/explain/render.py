"""An explanation as text for people: what it is, the dialog, the judgement, what became of it, and what to do."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.advice import of_example, of_left_out, of_turn
from pipeline.explain.layout import clean, counted, label_words, listed, moment, reading, section, short, wrapped
from pipeline.explain.render_gates import carried, gates
from pipeline.explain.render_turn import candidates, context, dialog, judgement
from pipeline.explain.render_votes import became, left_out, same_words, where
from pipeline.thresholds import of_domain
from schemas import LEAST_USERS, outcome_words

_KINDS: Final = {
    "correction": "users meant this, though the system read it otherwise",
    "confirmation": "the system read it so, and was judged right",
    "answer": "the system answered so, and was judged right",
    "preference": "asked again, the system answered so and was judged right; what it had answered first is rejected",
    "rejection": "the system did so, and was judged wrong; what would be right is not known",
}


def render(told: dict[str, Any], turns: bool = False) -> str:
    """Text of what `gather.explain` found.

    Parameters
    ----------
    told : dict
    turns : bool
        Whether the ids of the turns behind it are listed; other users' turns are counted only, otherwise.
    """
    notes = [line for note in told["notes"] for line in wrapped(note, "note: ")]
    release = told["release"]
    if told["kind"] == "example":
        body, advice = _example(told, release, turns), of_example(told, release)
    elif told["kind"] == "left_out":
        body, advice = _left_out(told["left_out"], turns), of_left_out(told["left_out"]["reason"], release)
    elif "behind" in told:
        body, advice = _of_turn(told, release, turns), of_example(told["behind"][0], release)
    else:
        body, advice = _turn(told, release, turns), of_turn(told, release)
    standing = "current" if release["is_current"] else "not the current one"
    return "\n".join(
        [
            *notes,
            *body,
            *section("Gates of the release", gates(told["gates"], release["quarantine"])),
            *section("What to do next", wrapped(advice)),
            "",
            f"release ({standing}): {release['folder']}",
        ]
    )


def _example(told: dict[str, Any], release: dict[str, Any], turns: bool) -> list[str]:
    example, one = told["example"], told.get("typical")
    lines = [f"example {example['example_id']}", *_label(example)]
    if told["quarantine"]:
        lines += wrapped(carried(told["quarantine"]))
    if told.get("turns"):
        lines += _behind(told["turns"], told["quarantine"])
    lines += section("What became of it: its row in each view", where(told["places"]))
    if turns:
        lines += section("Their ids", _ids(example["provenance"]))
    if one:
        lines += ["", f"One of them, whose wording the example has: turn {clean(one['turn']['turn_id'])}"]
        lines += [*wrapped(_about(one["turn"])), *_evidence(one, release, turns=False)]
    elif example["context"]:
        lines += section("Said before it, which its row of sft has too", context(example["context"]))
    return lines


def _left_out(row: dict[str, Any], turns: bool) -> list[str]:
    """An example that is in no view: the release has its id and its turns, and none of its words."""
    lines = [f"example {row['example_id']}: {row['reason']}"]
    lines += wrapped(f"{row['kind']}, split {row['split']}, in {counted(len(row['provenance']['turn_ids']), 'turn')}")
    lines += section("What became of it", wrapped(left_out(row)))
    return lines + (section("Their ids", _ids(row["provenance"])) if turns else [])


def _of_turn(told: dict[str, Any], release: dict[str, Any], turns: bool) -> list[str]:
    """A turn of which the release alone tells: the examples that it is behind."""
    lines = [f"turn {clean(told['id'])}"]
    for one in told["behind"]:
        does = "It votes for" if one["role"] == "voted" else "It supports a correction in"
        lines += ["", f"{does} this example:", "", *_example(one, release, turns)]
    return lines


def _label(example: dict[str, Any]) -> list[str]:
    kind = example["kind"]
    about = [
        f"{kind} ({_KINDS[kind]})" + ("" if example["blame"] == "none" else f"; to blame: {example['blame']}"),
        f"split {example['split']}, locale {clean(example['locale']) or 'not logged'}",
        f"confidence {example['confidence']:.2f}, weight {example['weight']:.2f}",
        "certified" if example["certified"] else "not certified",
    ]
    return [
        *wrapped(f'"{short(example["utterance"])}"'),
        *wrapped(label_words(kind, example, example["response"], example["rejected"]), "  -> ", "     "),
        *wrapped("; ".join(about)),
        *wrapped(_support(example)),
    ]


def _support(example: dict[str, Any]) -> str:
    """An answer has no agreement: several may be right."""
    needs, turns = example["needs"], counted(len(example["provenance"]["turn_ids"]), "turn")
    wanted = needs[LEAST_USERS[example["kind"]]]
    users = f"supported by {counted(example['support'], 'user')} ({wanted} wanted)"
    if example["agreement"] is None:
        return f"{users}, in {turns}"
    return f"{users}, agreement {example['agreement']:.2f} ({needs['min_agreement']:.2f} wanted), in {turns}"


def _behind(turns: dict[str, Any], quarantine: dict[str, Any] | None) -> list[str]:
    first, last = (moment(time) for time in turns["event_time"])
    time = first if first == last else f"{first} to {last}"
    kinds = ", ".join(counted(n, kind) for kind, n in turns["kinds"].items())
    lines = []
    low, high = turns["p_defect"]
    if kinds and low is not None:
        blames = f" (to blame: {listed(turns['blames'])})" if turns["blames"] else ""
        lines = wrapped(
            f"its turns: {kinds}, {time}; judged defective: {turns['defective']:,}{blames}; p(defect) "
            f"{low:.2f} to {high:.2f}"
        )
    if quarantine and not turns["found"]:
        lines += wrapped(
            f"its {counted(turns['count'], 'turn')} are of the log of that release; none votes in this run"
        )
    elif turns["found"] < turns["count"]:
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


def _turn(told: dict[str, Any], release: dict[str, Any], turns: bool) -> list[str]:
    turn = told["turn"]
    lines = [
        f"turn {clean(turn['turn_id'])}" + (f" of {clean(turn['subject_id'])}" if turn["subject_id"] else ""),
        *wrapped(f'"{short(turn["utterance"])}"'),
        *wrapped(_about(turn)),
        *wrapped(_verdict(told), "  => ", "     "),
        *_evidence(told, release, turns),
    ]
    return lines + section("What became of it", became(told["became"], told["judgement"], told["same_words"], release))


def _about(turn: dict[str, Any]) -> str:
    about = [moment(turn["event_time"]), turn["domain"] or "no domain", turn["locale"], turn["channel"], turn["policy"]]
    source = turn["source"]
    return f"{', '.join(clean(a) for a in about if a)}; {clean(source['uri'])}:{source['position']}"


def _verdict(told: dict[str, Any]) -> str:
    """In one sentence: how it was judged, what it was taken for, and where it is."""
    accepted = next((c["interpretation"] for c in told["candidates"] if c["accepted"]), None)
    corrected = f"corrected to {reading(accepted, score=False)}" if accepted else "not corrected"
    judged = f"judged defective, {corrected}" if told["judgement"]["is_defect"] else "judged not defective"
    became = told["became"]
    if became["places"]:
        stands = "what it did is rejected in" if became["vote"]["kind"] == "rejection" else "in"
        return f"{judged}; {stands} example {became['example']['example_id']}"
    return f"{judged}; in no example of the release ({outcome_words(became['outcome'])})"


def _evidence(told: dict[str, Any], release: dict[str, Any], turns: bool) -> list[str]:
    """The dialog, the judgement, what else was meant, and who else said so."""
    session, judged = told["session"], "so" if not told["judgement"]["is_defect"] else "defective"
    lines = section(
        f"The dialog around it (turn {session['at']:,} of {session['turns']:,} of the session)", dialog(told["dialog"])
    )
    lines += section(f"Why it was judged {judged}", judgement(told["judgement"], release))
    if told["judgement"]["is_defect"]:
        tau = of_domain(release["thresholds"]["correction"], told["judgement"]["domain"])["value"]
        least = release["config"]["train"]["least_correct"]
        rule = f"the likeliest is accepted from p(correct) {least:.2f} and a lead of {tau:.3f} on"
        lines += section(f"What else was meant ({rule})", candidates(told["candidates"], told["dialog"]))
    return lines + section("Who else said it", same_words(told["same_words"], turns))
