"""An evaluation for people."""

from __future__ import annotations

from typing import Any, Final

from pipeline.explain.layout import wrapped

_DOMAINS: Final = 30
_MEANS: Final = {
    "wrong_interpretation": "the interpretation is wrong; against p(defect)",
    "dissatisfied": "the user is dissatisfied; against p(defect)",
    "breakdown": "the dialog breaks down; against p(defect)",
    "right_interpretation": "the candidate is what the user meant; against p(correct)",
}
_COLUMNS: Final = ("rows", "positive", "auc", "ap", "ece", "ece_floor", "taken", "accepted", "precision", "recall")
_HEADS: Final = {"ece_floor": "floor", "taken": "judged", "positive": "true"}


def render(told: dict[str, Any]) -> str:
    """Each definition: what was joined, the figures over all and by domain, and the reliability curve."""
    by, models = told["judged_by"], told["judged_by"]["models"]
    name = f"release   {by['release_id'][:12]}" if "release_id" in by else f"model     {models['file'][:12]}"
    thresholds = by["thresholds"]
    lines = [
        "",
        f"{name}{_turns(told['turns'])}; defect at p {_limit(thresholds['defect'])}, correction at lead "
        f"{_limit(thresholds['correction'])}; learned from {by['training']['labels']}",
        *(f"gold      {f['uri']}: {f['labels']:,} labels" for f in told["gold"]),
    ]
    for note in told["notes"]:
        lines += wrapped(note, "note      ")
    if told["of_audits"]:
        note = (
            f"{told['of_audits']:,} labels are of audits, drawn by cell: `audit --read` gives figures of the whole log"
        )
        lines += wrapped(note, "          ")
    for definition, held in told["definitions"].items():
        lines += ["", *_definition(definition, held, bool(by.get("learned_known", True)))]
    if told["examples"]:
        lines += ["", *_examples(told["examples"])]
    return "\n".join(lines)


def _limit(threshold: dict[str, Any]) -> str:
    values = [held["value"] for held in (threshold.get("domains") or {}).values()]
    other = sum(value != threshold["value"] for value in values)
    return f">= {threshold['value']:.2f}" + (f" ({other} of {len(values)} domains at another)" if other else "")


def _turns(turns: int | None) -> str:
    return "" if turns is None else f" of {turns:,} turns"


def _examples(held: dict[str, Any]) -> list[str]:
    columns = ["examples", "labelled", "right", "precision", "turns"]
    lines = [
        "released examples: what is taught is what the users of its turns meant, on right_interpretation",
        "",
        f"  {'':<24}" + "".join(f"{c:>10}" for c in columns),
        _row("all", held["all"], columns),
    ]
    lines += [_row(f"{kind}s", figures, columns) for kind, figures in held["kinds"].items()]
    ordered = sorted(held["domains"].items(), key=lambda d: (-d[1]["labelled"], d[0]))
    return lines + [_row(name, figures, columns) for name, figures in ordered[:_DOMAINS] if figures["labelled"]]


def _definition(definition: str, held: dict[str, Any], learned_known: bool) -> list[str]:
    columns = [c for c in _COLUMNS if c in held["all"]]
    lines = [
        f"{definition}: {_MEANS[definition]}",
        f"  {held['labels']:,} labels, {held['joined']:,} of them joined, {held['unjoined']:,} without a row here",
        *wrapped(_learned(held, learned_known), "  ", "  "),
        "",
        f"  {'':<24}" + "".join(f"{_HEADS.get(c, c):>10}" for c in columns),
        _row("all", held["all"], columns),
    ]
    if 0 < held["learned_from"] < held["joined"]:
        lines.append(_row("not learned from", held["not_learned_from"], columns))
    ordered = sorted(held["domains"].items(), key=lambda d: (-d[1]["rows"], d[0]))
    lines += [_row(name, figures, columns) for name, figures in ordered[:_DOMAINS]]
    if len(ordered) > _DOMAINS:
        lines.append(f"  ... and {len(ordered) - _DOMAINS} more domains, by --json")
    return lines + _curve(held["reliability"])


def _learned(held: dict[str, Any], known: bool) -> str:
    if not known:
        return "whether the model was fitted on these turns is not known: it is of another run"
    if not held["learned_from"]:
        return "none of them was among the turns that the model was fitted on"
    return (
        f"{held['learned_from']:,} of them are turns that the model was fitted on; each is judged out of fold, by "
        "boosters that have not seen its user"
    )


def _row(name: str, figures: dict[str, Any], columns: list[str]) -> str:
    return f"  {name[:23]:<24}" + "".join(f"{_cell(figures[c]):>10}" for c in columns)


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _curve(points: list[dict[str, Any]]) -> list[str]:
    if not points:
        return []
    heads = (("p", "probability"), ("share", "share"))
    shown = [f"  {name:<10}" + "".join(f"{point[key]:>7.2f}" for point in points) for name, key in heads]
    return ["", f"  reliability, {len(points)} parts of about {points[0]['rows']:,} rows", *shown]
