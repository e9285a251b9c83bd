"""Who said the same, and what became of a turn or an example, as text."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.layout import clean, counted, figure, listed, reading, wrapped

LABELS_SHOWN: Final = 5


def same_words(told: dict[str, Any], turns: bool) -> list[str]:
    """Users by what their turns voted for. They are counted; the ids of turns are listed on demand only."""
    lines = wrapped(f"{counted(told['users'], 'user')} said these words, in {counted(told['turns'], 'turn')}")
    if told["turns_without_vote"]:
        silent = sum(told["turns_without_vote"].values())
        lines += wrapped(
            f"{counted(silent, 'turn')} cast no vote ({listed(told['turns_without_vote'])}); "
            f"{counted(told['users_without_vote'], 'user')} cast none at all"
        )
    if told["for"] is not None:
        lines += wrapped(
            f"pooled with this turn: {counted(told['pooled_users'], 'user')}; {told['for']:,} for this label, "
            f"{told['another']:,} for another; agreement {figure(told['agreement'])}"
        )
    for label in told["labels"][:LABELS_SHOWN]:
        lines += _label(label)
    if len(told["labels"]) > LABELS_SHOWN:
        lines.append(f"    and {len(told['labels']) - LABELS_SHOWN} more labels")
    if turns and told["same_label_turns"]:
        lines += wrapped(f"turns for this label: {' '.join(clean(t) for t in told['same_label_turns'])}")
    return lines


def _label(label: dict[str, Any]) -> list[str]:
    mark = ">" if label["this"] else " "
    at = f"{label['split']}, {label['locale'] or 'no locale'}"
    told = f"{reading(label['label'], score=False)}  ({at}): {label['outcome'].replace('_', ' ')}"
    return wrapped(told, f"{mark:>3} {counted(label['users'], 'user'):>9}  ")


def became(
    told: dict[str, Any], judgement: dict[str, Any], words: dict[str, Any], release: dict[str, Any]
) -> list[str]:
    """The outcome with the numbers that decided it, then the example and its rows."""
    outcome = told["outcome"]
    lines = wrapped(f"{outcome}: {_why(outcome, judgement, words, release)}")
    if told["vote"] is not None:
        vote = told["vote"]
        lines += wrapped(
            f"its vote: {vote['kind']} {reading(vote['label'], score=False)}, probability {vote['probability']:.3f}, "
            f"split {vote['split']}"
        )
    if told["example"] is not None:
        lines += wrapped(f"example {told['example']['example_id']}")
        lines += where(told["places"])
    return lines


def _why(outcome: str, judgement: dict[str, Any], words: dict[str, Any], release: dict[str, Any]) -> str:
    """An outcome of stage curate in a sentence."""
    options = release["config"]["curate"]
    agreement = "" if words["agreement"] is None else f"agreement {words['agreement']:.2f}, "
    sentences = {
        "no_consent": "its user does not allow learning from it, or from a turn that supports its correction",
        "no_words": "nothing is left of the utterance without punctuation",
        "uncertain": _uncertain(judgement, options["confirm_below"]),
        "outside_split": "its time, or that of a turn that supports its correction, is on the other side of "
        f"curate.test_from {options['test_from']} than its user",
        "below_support": f"its label has {counted(words['for'] or 0, 'user')}, {options['min_users']} are wanted",
        "disagreement": f"{agreement}{options['min_agreement']:.2f} is wanted",
        "outvoted": "more users mean another thing by these words (or as many, and likelier)",
        "in_train": "the train split has an example of the same words, so test has none",
        "kept": "it is in an example, which has its wording",
        "de_duplicated": "it is in an example, which has the wording of another turn",
    }
    return sentences.get(outcome, "see docs/cli.md")


def _uncertain(judgement: dict[str, Any], confirm_below: float) -> str:
    if judgement["is_defect"]:
        return "judged defective, and no candidate with an intent was accepted in its place"
    if judgement["p_defect"] > confirm_below:
        return f"p(defect) {judgement['p_defect']:.3f} is over {confirm_below:g}, so it confirms nothing either"
    return "nothing with an intent was executed, so there is nothing to confirm"


def where(places: list[dict[str, Any]]) -> list[str]:
    """The rows of a release."""
    if not places:
        return wrapped("no row of the release: a gate or a view left it out")
    return [line for p in places for line in wrapped(f"{p['view']}: {p['file']}, row {p['row']}")]
