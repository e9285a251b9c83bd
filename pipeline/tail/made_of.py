"""What a release of a row is made of beside the files that it read: a part of its manifest, and of its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipeline.tail.files import LABELS, OPEN, RECENT, rows_of

_BY: Final = "revised."


def made_of(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a release took over, judged anew, and hands on; None where it is not one of a row.

    Parameters
    ----------
    manifest : mapping
        Its identity, counts and files are read.

    Returns
    -------
    dict or None
        `release` (taken over from; None = it begins a row), `taken_over` and `handed_on` (turns by kind, and labels),
        `left_open`, `judged_before` (turns that are not among its own), `late` (`turns`, and `alone`: those that found
        nothing of their session), `revised` (`turns`, `sessions`, and turns `of` each release that judged them before).
    """
    taken = manifest["identity"].get("taken")
    if taken is None:
        return None
    counts = manifest["counts"]["ingest"]
    revised = {k.removeprefix(_BY): n for k, n in counts.items() if k.startswith(_BY)}
    return {
        "release": taken["release"],
        "taken_over": {kind: counts.get(f"taken.{kind}", 0) for kind in (OPEN, RECENT, LABELS)},
        "late": {"turns": counts.get("late", 0), "alone": counts.get("late_alone", 0)},
        "revised": {"turns": counts.get("revised", 0), "sessions": counts.get("revised_sessions", 0), "of": revised},
        "judged_before": counts.get("judged_before", 0),
        "left_open": counts.get("left_open", 0),
        "handed_on": rows_of(manifest),
    }


def section(manifest: Mapping[str, Any]) -> list[str]:
    """Lines of the card."""
    told = made_of(manifest)
    if told is None:
        return []
    inputs, taken, late, revised = manifest["identity"]["inputs"], told["taken_over"], told["late"], told["revised"]
    source = f"release {told['release'][:12]}" if told["release"] else "no release: it begins a row"
    rows = [
        ("files read", len(inputs)),
        (f"turns of open sessions, from {source}", taken[OPEN]),
        ("turns of judged sessions, from there too", taken[RECENT]),
        ("of these in sessions that are as they were, and not in this release", told["judged_before"]),
        ("turns read that are late, of before the interval", late["turns"]),
        ("of these in sessions that nothing was kept of", late["alone"]),
        *((f"turns judged anew that release {k[:12]} judged before", n) for k, n in sorted(revised["of"].items())),
        ("turns of sessions that are still open, left to the next run", told["left_open"]),
    ]
    note = (
        "`tail/` is for the next run, and no training data: turns that are not judged yet, or not for good, with the "
        "ids of their users."
    )
    return ["## Made of", "", "| what | number |", "|---|---|", *(f"| {k} | {n:,} |" for k, n in rows), "", note, ""]
