"""What a reader of an explanation can do next."""

from __future__ import annotations

from typing import Any

from schemas import LEAST_USERS, LeftOutReason


def of_example(told: dict[str, Any], release: dict[str, Any]) -> str:
    """Of an example of the release."""
    if told["quarantine"]:
        return _quarantined(told["quarantine"])
    return _if_wrong(told["example"]["kind"], release)


def of_left_out(reason: str, release: dict[str, Any]) -> str:
    """Of an example that curation left out."""
    options, again = release["config"]["curate"], _again("curate")
    sentences = {
        LeftOutReason.KNOWN: "Nothing: it is learned already.",
        LeftOutReason.CONTRADICTS_TRAINING_SET: "Review it: either the training set is wrong, or its users are.",
        LeftOutReason.CONTAMINATED: "Nothing: who has learned it cannot be measured by that evaluation set. Where the "
        f"words they share are ordinary, raise curate.decontaminate_words (now {options['decontaminate_words']}), then "
        f"{again}.",
        LeftOutReason.DUPLICATE_ACROSS_SPLITS: "Nothing: a test that repeats the training data proves nothing.",
        LeftOutReason.NEAR_DUPLICATE: "Nothing, if the one kept in its place will do. Else raise "
        f"curate.duplicate_likeness (now {options['duplicate_likeness']:g}), then {again}.",
        LeftOutReason.OVER_CAP: f"Nothing, or raise the cap, then {again}.",
        LeftOutReason.NOT_SAMPLED: f"Nothing, or raise curate.replay_power (now {options['replay_power']:g}) or "
        f"curate.replay_floor (now {options['replay_floor']:,}), then {again}.",
    }
    return sentences[LeftOutReason(reason)]


def of_turn(told: dict[str, Any], release: dict[str, Any]) -> str:
    """Of a turn, by what became of it."""
    became, options = told["became"], release["config"]["curate"]
    outcome, vote = became["outcome"], became["vote"]
    if outcome == "quarantined":
        return _quarantined(became["quarantine"])
    if became["left_out"]:
        return of_left_out(outcome, release)
    if outcome in ("kept", "de_duplicated"):
        return _if_wrong(vote["kind"], release)
    if outcome == "uncertain":
        return _uncertain(told["judgement"]["is_defect"], options["confirm_below"], release)
    option = LEAST_USERS[vote["kind"]] if vote else "min_users"
    sentences = {
        "no_consent": "Nothing: what its user refused is in no training data.",
        "expired": "Nothing: by its `expires` the log was not to hold it any more.",
        "excluded": "Nothing, if the filter or the incident is right; docs/inputs.md says how they are set.",
        "licence": f"Nothing, or add its licence to curate.licences, then {_again('curate')}.",
        "unknown_label": "Nothing; or, if the label is still right, add it to the domains of ontology.file, then "
        f"{_again('ingest')}.",
        "no_words": "Nothing: there are no words to learn from.",
        "outside_split": f"Nothing, or move curate.test_from; {_again('curate')}.",
        "conversation_in_train": "Nothing, if several users speak in the conversation: a test of what train has seen "
        "proves nothing. If its id is another user's too, make the ids unique (put the user before them), then "
        f"{_again('ingest')}.",
        "below_support": f"Read more logs, until {options[option]} users say it; or lower curate.{option} (now "
        f"{options[option]}), where fewer are proof enough, then {_again('curate')}.",
        "disagreement": "The same words mean several things to their users, or some votes are wrong: explain turns for "
        "the other labels (their ids: stages/curate, or --json). To take the most frequent one all the same, lower "
        f"curate.min_agreement (now {options['min_agreement']}), then {_again('curate')}.",
        "outvoted": "Nothing, if the label that won is right. Else explain turns that voted for it.",
        "contradicted": "Nothing, if the example that has it for right is right. Else explain that.",
        "in_train": "Nothing: a test that repeats the training data proves nothing.",
    }
    return sentences.get(outcome, "See docs/cli.md.")


def _quarantined(quarantine: dict[str, Any]) -> str:
    advice = str(quarantine["advice"])
    return f"{advice[:1].upper()}{advice[1:]}; then {_again('release')}."


def _again(stage: str) -> str:
    return f"`afterword run --from {stage}`"


def _if_wrong(kind: str, release: dict[str, Any]) -> str:
    options = release["config"]["curate"]
    stricter = {
        "correction": f"raise curate.min_users (now {options['min_users']}), then {_again('curate')}; or raise "
        f"{_judged_by(release, 'tau')}, with `--from train`",
        "confirmation": f"lower curate.confirm_below (now {options['confirm_below']}) or raise curate.min_users (now "
        f"{options['min_users']}), then {_again('curate')}",
        "answer": f"lower curate.confirm_below (now {options['confirm_below']}) or raise curate.answer_min_users (now "
        f"{options['answer_min_users']}), then {_again('curate')}",
        "preference": f"lower curate.confirm_below (now {options['confirm_below']}), then {_again('curate')}; or raise "
        f"{_judged_by(release, 'threshold')}, with `--from train`",
        "rejection": f"raise {_judged_by(release, 'threshold')}, then {_again('train')}; or raise "
        f"curate.reject_min_users (now {options['reject_min_users']}), with `--from curate`",
    }
    return f"Nothing, if it is right. Else {stricter[kind]}."


def _uncertain(is_defect: bool, confirm_below: float, release: dict[str, Any]) -> str:
    if not is_defect:
        return (
            f"Nothing: other turns teach the same with less doubt. To learn from less sure ones, raise "
            f"curate.confirm_below (now {confirm_below:g}), then {_again('curate')}."
        )
    return (
        "Nothing of it is learned; read the dialog. If the system did fail, it is a case for those who develop it. If "
        f"many such turns were right, raise {_judged_by(release, 'threshold')}, then {_again('train')}."
    )


def _judged_by(release: dict[str, Any], what: str) -> str:
    """The option that a decision hangs on; where gold is too little to tell, p is held against an option as such."""
    train = release["config"]["train"]
    basis = release["thresholds"]["defect" if what == "threshold" else "correction"]["basis"]
    name = {"threshold": "weak_threshold", "tau": "least_correct"}[what] if basis == "option" else "precision"
    return f"train.{name} (now {train[name]})"
