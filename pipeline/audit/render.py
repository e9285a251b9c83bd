"""An audit for people: what was drawn, and what the answers say."""

from __future__ import annotations

from typing import Any, Final

from models.sampling import DECISIONS
from pipeline.explain.layout import wrapped

_DOMAINS: Final = 30
_FIGURES: Final = ("prevalence", "precision", "recall", "correction_precision")
# Width of an interval below which a tenth of a percent says something.
_KNOWN_WELL: Final = 0.1
_HEADS: Final = ("prevalence", "precision", "recall", "corrections")


def drawn_text(design: dict[str, Any]) -> str:
    """What was drawn, cell by cell, and what to do next."""
    names = list(dict.fromkeys(s["domain"] for s in design["strata"]))
    cells = {(s["domain"], s["decision"]): s for s in design["strata"]}
    lines = [
        "",
        f"audit     {design['audit_id']} of release {design['release_id'][:12]}",
        f"drawn     {design['drawn']:,} of {design['turns']:,} turns, at random within each domain and decision"
        + _left_out(design),
        "",
        f"{'domain':<24}" + "".join(f"{d:>20}" for d in DECISIONS),
    ]
    for name in names[:_DOMAINS]:
        lines.append(f"{name[:23]:<24}" + "".join(f"{_cell(cells.get((name, d))):>20}" for d in DECISIONS))
    if len(names) > _DOMAINS:
        lines.append(f"... and {len(names) - _DOMAINS} more, in audit.json")
    if design["other_domains"]:
        lines += wrapped(f"{len(design['other_domains'])} small domains share their cells (see audit.json)", "")
    lines += wrapped(
        "corrected: judged defective with an accepted correction; defective: without one; satisfied: not defective",
        "",
    )
    files = [f"form      {path}" for path in design["files"]]
    return "\n".join([*lines, "", f"design    {design['folder']}", *files, "", *_next(design["out"])])


def _next(out: str) -> list[str]:
    people = "have people judge it (each rater a copy, or all in the tool)"
    return wrapped(f"{people}, then: afterword audit --out {out} --read FILE ...", "next      ")


def _left_out(design: dict[str, Any]) -> str:
    withheld = design["left_out"]["not_learnable"]
    return f"; {withheld:,} that may not be learned from are not shown" if withheld else ""


def _cell(stratum: dict[str, Any] | None) -> str:
    return "" if stratum is None else f"{stratum['drawn']:,} of {stratum['turns']:,}"


def figures_text(found: dict[str, Any]) -> str:
    """The figures, all turns first, then the domains with the most turns."""
    told = found["answers"]
    lines = [
        "",
        f"audit     {found['audit_id']} of release {found['release_id'][:12]}",
        f"judged    {told['judged']:,} of {told['drawn']:,} turns by {told['raters']} rater(s); "
        f"{told['cannot_tell']:,} cannot be told, {told['open']:,} are open",
        f"          {told['corrections_judged']:,} of {told['corrections']:,} corrections",
    ]
    if told["by_several"]:
        lines.append(
            f"          {told['by_several_agreed']:,} of {told['by_several']:,} answers by several are unanimous"
        )
    if told["both_right"]:
        lines.append(f"          {told['both_right']:,} corrections are called right where nothing was wrong")
    lines += ["", f"{'':<19}{'turns':>10}{'judged':>7}" + "".join(f"{h:>15}" for h in _HEADS)]
    lines.append(_row("all", found["all"]))
    ordered = sorted(found["domains"].items(), key=lambda d: (-d[1]["turns"], d[0]))
    lines += [_row(name, figures) for name, figures in ordered[:_DOMAINS]]
    if len(ordered) > _DOMAINS:
        lines.append(f"... and {len(ordered) - _DOMAINS} more, in figures.json")
    note = (
        f"estimate and {found['confidence']:.0%} interval. prevalence: turns whose interpretation is wrong; precision: "
        "of those judged defective; recall: of the wrong ones, those judged defective; corrections: accepted ones that "
        "are right; no interval: all were judged"
    )
    written = [f"gold      {found['gold_rows']:,} labels in {found['gold']}", f"figures   {found['figures']}"]
    return "\n".join([*lines, *wrapped(note, ""), "", *written, "", *_then(found["out"])])


def _then(out: str) -> list[str]:
    return wrapped(f"afterword run --from train --out {out} learns from these labels", "next      ")


def _row(name: str, figures: dict[str, Any]) -> str:
    shown = "".join(f"{_interval(figures[key]):>15}" for key in _FIGURES)
    return f"{name[:18]:<19}{figures['turns']:>10,}{figures['judged']:>7,}{shown}"


def _interval(figure: dict[str, Any]) -> str:
    """A share in percent with its interval; a digit more where it is known to a few points."""
    value, low, high = figure["value"], figure["low"], figure["high"]
    if value is None:
        return "-"
    digits = 1 if high - low < _KNOWN_WELL and 0.0 < value < 1.0 else 0
    text = f"{value:.{digits}%}"
    return text if low == high else f"{text} [{100 * low:.0f}-{100 * high:.0f}%]"
