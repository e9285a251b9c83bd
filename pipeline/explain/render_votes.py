"""Who said the same, and what became of a turn or an example, as text."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.layout import clean, counted, label_words, listed, wrapped
from pipeline.explain.render_gates import withheld
from schemas import LEAST_USERS, LEFT_OUT_MEANINGS, LeftOutReason, outcome_words

LABELS_SHOWN: Final = 5


def same_words(told: dict[str, Any], turns: bool) -> list[str]:
    """Users by what their turns voted for. They are counted; the ids of turns are listed on demand only."""
    said = f"{counted(told['users'], 'user')} said these words, in {counted(told['turns'], 'turn')}"
    if told["turns_without_vote"]:
        silent = sum(told["turns_without_vote"].values())
        said += f"; {counted(silent, 'turn')} cast no vote on their meaning ({listed(told['turns_without_vote'])})"
    lines = wrapped(said)
    if told["for"] is not None:
        lines += wrapped(f"pooled with this turn: {_pooled(told)}")
    labels = _alike(told["labels"])
    for alike in labels[:LABELS_SHOWN]:
        lines += _label(alike)
    if len(labels) > LABELS_SHOWN:
        lines.append(f"    and {len(labels) - LABELS_SHOWN} more labels")
    if turns and told["same_label_turns"]:
        lines += wrapped(f"turns for this label: {' '.join(clean(t) for t in told['same_label_turns'])}")
    return lines


def _pooled(told: dict[str, Any]) -> str:
    users = f"{counted(told['pooled_users'], 'user')}; {told['for']:,} for this label, {told['another']:,} for another"
    if told["agreement"] is None:
        return f"{users}, after the same words before; of answers, several may be right"
    return f"{users}; agreement {told['agreement']:.2f}"


def _alike(labels: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Labels of other contexts together, where they read the same."""
    told: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for label in labels:
        at = f"({label['split']}, {label['locale'] or 'no locale'}): {outcome_words(label['outcome'])}"
        words = label_words(label["kind"], label["label"], label["response"], label["rejected"])
        told.setdefault((f"{words}  {at}", label["this"]), []).append(label | {"told": f"{words}  {at}"})
    return list(told.values())


def _label(alike: list[dict[str, Any]]) -> list[str]:
    first = alike[0]
    if len(alike) == 1:
        size, more = counted(first["users"], "user"), ""
    else:
        # A user may have said it in several contexts.
        size, more = counted(sum(label["turns"] for label in alike), "turn"), f", in {len(alike)} contexts"
    return wrapped(f"{first['told']}{more}", f"{'>' if first['this'] else ' ':>3} {size:>9}  ")


def became(
    told: dict[str, Any], judgement: dict[str, Any], words: dict[str, Any], release: dict[str, Any]
) -> list[str]:
    """The outcome with the numbers that decided it, then the example and its rows."""
    outcome = told["outcome"]
    lines = wrapped(f"{outcome_words(outcome)} ({outcome}): {_why(told, judgement, words, release)}")
    if told["vote"] is not None:
        vote = told["vote"]
        lines += wrapped(
            f"its vote: {vote['kind']} {label_words(vote['kind'], vote['label'], vote['response'], vote['rejected'])}, "
            f"probability {vote['probability']:.3f}, split {vote['split']}"
        )
    if told["places"]:
        lines += wrapped(f"example {told['example']['example_id']}")
        lines += where(told["places"])
    return lines


def _why(told: dict[str, Any], judgement: dict[str, Any], words: dict[str, Any], release: dict[str, Any]) -> str:
    """An outcome of stages curate and release in a sentence."""
    options, outcome = release["config"]["curate"], told["outcome"]
    if told["left_out"]:
        return left_out(told["left_out"])
    if outcome == "quarantined":
        return withheld(told["quarantine"], told["carried"])
    wanted = options[LEAST_USERS[told["vote"]["kind"]] if told["vote"] else "min_users"]
    agreement = "" if words["agreement"] is None else f"agreement {words['agreement']:.2f}, "
    sentences = {
        "no_consent": "its user does not allow learning from it, or from a turn that supports its correction",
        "expired": "it was to be deleted by the end of the interval, or a turn that supports its correction was",
        "excluded": "an opt-out, a filter or an incident keeps it out, or a turn that supports its correction",
        "licence": f"its licence is none of curate.licences ({options.get('licences')}), or that of a turn that "
        "supports its correction is none",
        "unknown_label": "what it would teach is no label of the ontology any more: split or retired",
        "no_words": "nothing is left of the utterance without punctuation",
        "uncertain": _uncertain(judgement, options["confirm_below"]),
        "outside_split": "its time, or that of a turn that supports its correction, is on the other side of "
        f"curate.test_from {options['test_from']} than its user",
        "conversation_in_train": "users of the train split speak in its conversation too, or in that of a turn that "
        "supports its correction",
        "below_support": f"its label has {counted(words['for'] or 0, 'user')}, {wanted} are wanted",
        "disagreement": f"{agreement}{options['min_agreement']:.2f} is wanted",
        "outvoted": "more users mean another thing by these words (or as many, and likelier)",
        "contradicted": "an example of the same words has for right what it was judged wrong for",
        "in_train": "the train split has an example of the same words, so test has none",
        "kept": "it is in an example, which has its wording",
        "de_duplicated": "it is in an example, which has the wording of another turn",
    }
    return sentences.get(outcome, "see docs/cli.md")


def left_out(row: dict[str, Any]) -> str:
    """Why curation left an example out, in a sentence."""
    about = LEFT_OUT_MEANINGS[LeftOutReason(row["reason"])]
    of = f": {clean(row['of'])}" if row["of"] else ""
    alike = "" if row["similarity"] is None else f", similarity {row['similarity']:.2f}"
    return f"example {row['example_id']} was left out: {about}{of}{alike}; {clean(row['detail'])}"


def _uncertain(judgement: dict[str, Any], confirm_below: float) -> str:
    if judgement["is_defect"]:
        return "judged defective, and nothing that can be a label was accepted in its place"
    if judgement["p_defect"] > confirm_below:
        return f"p(defect) {judgement['p_defect']:.3f} is over {confirm_below:g}: not sure enough to learn it as right"
    return "nothing that can be a label was executed or answered, so there is nothing to learn as right"


def where(places: list[dict[str, Any]]) -> list[str]:
    """The rows of a release."""
    if not places:
        return wrapped("no row of the release has it: prove the release with `afterword verify`")
    width = max(8, *(len(p["view"]) for p in places))
    lines = [f"{p['view']:<{width}} {p['file']}, row {p['row']}" for p in places]
    return [part for line in lines for part in wrapped(line, "  ", " " * (width + 3))]
