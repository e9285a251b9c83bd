"""The closing table: what a run found and where its release lies."""

from __future__ import annotations

from typing import Any

from pipeline.gates.quarantine import reason
from pipeline.tail.files import turns_taken
from pipeline.thresholds import SHORT, by_basis, of_domain, told_apart
from pipeline.writers.trust import calibration, unknown, votes
from pipeline.writers.views import lacking
from schemas import LeftOutReason, outcome_words

_DOMAINS = 20
# Why a turn that voted is in no example.
_LEFT = ("below_support", "disagreement", "outvoted", "contradicted", "in_train")


def closing_table(result: dict[str, Any]) -> str:
    """Text of the table.

    Parameters
    ----------
    result : dict
        As `pipeline.jobs.run.summary` gives it.
    """
    counts = result["counts"]
    ingest, label, curate = counts["ingest"], counts["label"], counts["curate"]
    released = counts["release"]
    turns = label.get("kept", 0)
    lines = [
        "",
        *_rows(
            [
                (
                    "turns",
                    turns,
                    f"{_read(ingest):,} records read, {ingest.get('dead_lettered', 0):,} dead letters, "
                    f"{ingest.get('superseded', 0):,} superseded" + _kept_out(ingest),
                ),
                *_complete(result.get("complete"), ingest),
                *_made_of(result.get("made_of")),
                *_redacted(ingest),
                (
                    "sessions",
                    counts["signals"].get("sessions", 0),
                    f"of {counts['signals'].get('subjects', 0):,} users, or conversations where no user is logged",
                ),
                (
                    "defects",
                    label.get("defects", 0),
                    _threshold(result, "threshold", "p", label.get("defects_certified", 0)),
                ),
                (
                    "corrections",
                    label.get("corrected", 0),
                    _threshold(result, "tau", "lead", label.get("corrected_certified", 0)),
                ),
                ("examples", released.get("kept", 0) + released.get("carried", 0), _kinds(released)),
                *_left_out(curate),
                ("shards", sum(result["shards"].values()), ", ".join(f"{k} {v}" for k, v in result["shards"].items())),
                *(
                    (f"no {split}", len(names), f"views without rows in split {split}: {', '.join(names)}")
                    for split, names in lacking(released).items()
                ),
            ]
        ),
        "",
        *_domains(result["domains"], result["thresholds"]["threshold"]),
        "",
        *_model(result),
        *_quarantined(result["quarantined"]),
        f"release   {result['release']}",
        *(f"verified  {proof}" for proof in result["proofs"]),
    ]
    return "\n".join(lines)


def _read(ingest: dict[str, int]) -> int:
    """Records read."""
    return ingest.get("in", 0) - turns_taken(ingest)


def _kept_out(ingest: dict[str, int]) -> str:
    """Turns that are no part of the log any more, or teach nothing, by what says so."""
    opted_out = ingest.get("opted_out", 0)
    dropped = f", {opted_out:,} of users who opted out" if opted_out else ""
    names = {k.partition(".")[2]: n for k, n in sorted(ingest.items()) if k.startswith("excluded.")}
    listed = ", ".join(f"{n:,} {name}" for name, n in names.items())
    if ingest.get("forgotten"):
        dropped += f", {ingest['forgotten']:,} of forgotten users"
    return dropped + (f"; kept out of learning: {listed}" if listed else "")


def _complete(complete: dict[str, Any] | None, ingest: dict[str, int]) -> list[tuple[str, int, str]]:
    """Records read, where a count file said how many there are."""
    if complete is None:
        return []
    n = len(complete["partitions"])
    return [("complete", _read(ingest), f"records, as {complete['by']} has them; {n} file(s) or partition(s)")]


def _made_of(told: dict[str, Any] | None) -> list[tuple[str, int, str]]:
    """What a run of a row took over from the release before, judged anew, and left to the next."""
    if told is None:
        return []
    taken, revised, late = told["taken_over"], told["revised"], told["late"]
    source = f"from release {told['release'][:12]}" if told["release"] else "this run begins a row"
    note = f"turns of open sessions, and {taken['recent']:,} of judged ones, {source}"
    changes = f"turns; {late['turns']:,} late, {late['alone']:,} of them found nothing of their session"
    return [
        ("taken over", taken["open"], note),
        ("judged anew", revised["turns"], changes),
        ("left open", told["left_open"], "turns of sessions that the interval's end cuts through, for the next run"),
    ]


def _rows(rows: list[tuple[str, int, str]]) -> list[str]:
    return [f"{name:<12}{number:>12,}   {note}".rstrip() for name, number, note in rows]


def _redacted(ingest: dict[str, int]) -> list[tuple[str, int, str]]:
    """Turns in which something was redacted, and what, if there are any."""
    types = {k.removeprefix("redacted."): n for k, n in ingest.items() if k.removeprefix("redacted.").isupper()}
    if not types:
        return []
    told = ", ".join(f"{k} {n:,}" for k, n in sorted(types.items(), key=lambda t: (-t[1], t[0])))
    return [("redacted", ingest.get("redacted.turns", 0), f"turns; {told}")]


def _threshold(result: dict[str, Any], name: str, score: str, certified: int) -> str:
    """How a threshold was set, what has to reach it, and how many turns are certified by it."""
    facts, labels = result["thresholds"][name], result["labels"]
    if facts.get("basis") == "abstain":
        text = f"no threshold reaches precision {facts['wished']:.2f} by {labels}"
    else:
        text = f"{score} >= {facts['value']:.2f}, estimated from {labels}"
    if told_apart(facts):
        counted = ", ".join(f"{n} {SHORT[basis]}" for basis, n in by_basis(facts).items())
        text += f" (of {len(facts['domains'])} domains: {counted})"
    proved = [facts, *facts.get("domains", {}).values()]
    if all(t["certified_at"] is None for t in proved):
        return f"{text}; none certified"
    return f"{text}; {certified:,} certified at precision {facts['wished']:.2f}"


def _model(result: dict[str, Any]) -> list[str]:
    """What the models were learned from, and how far they can be trusted."""
    training = result["training"]
    told = [*votes(training), *calibration(training), *unknown(result["counts"]["label"])]
    return [f"model     {text[:-1]}" for text in told]


def _kinds(released: dict[str, int]) -> str:
    kinds: dict[str, int] = {}
    for key, rows in released.items():
        if key.startswith("examples."):
            kind = key.rsplit(".", 1)[1]
            kinds[kind] = kinds.get(kind, 0) + rows
    made = ", ".join(f"{n:,} {k}{'' if n == 1 else 's'}" for k, n in sorted(kinds.items())) or "none"
    if carried := released.get("carried", 0):
        made += f", of them {carried:,} carried over"
    if withheld := released.get("quarantined", 0):
        made += f"; {withheld:,} of quarantined domains left out"
    return made


def _left_out(curate: dict[str, int]) -> list[tuple[str, int, str]]:
    """Turns that became no example, and examples that are not released, by why."""
    turns = {reason: curate[reason] for reason in _LEFT if curate.get(reason)}
    examples = {str(reason): curate[reason] for reason in LeftOutReason if curate.get(reason)}
    return [
        (name, sum(held.values()), f"{of}: " + "; ".join(f"{n:,} {outcome_words(why)}" for why, n in held.items()))
        for name, of, held in (("dropped", "turns", turns), ("left out", "examples", examples))
        if held
    ]


def _quarantined(domains: dict[str, dict[str, Any]]) -> list[str]:
    """Each quarantined domain: why, what became of its examples, what to do."""
    lines = []
    for name, entry in domains.items():
        lines += [
            f"quarantined  {reason(name, entry)}",
            f"             {entry['withheld']:,} new examples left out, {entry['carried']:,} of the parent release "
            f"carried over, {entry['carried_dropped']:,} of it given up",
            f"             {entry['advice']}",
        ]
    return [*lines, ""] if lines else []


def _domains(domains: dict[str, dict[str, int]], thresholds: dict[str, Any]) -> list[str]:
    """Domains by number of defects, the largest first; what their thresholds rest on, where that differs."""
    apart = told_apart(thresholds)
    ordered = sorted(domains.items(), key=lambda d: (-d[1].get("defects", 0), d[0]))
    lines = [f"{'domain':<24}{'turns':>12}{'defects':>12}{'share':>8}{'corrected':>12}"]
    for name, row in ordered[:_DOMAINS]:
        turns, defects = row.get("turns", 0), row.get("defects", 0)
        share = f"{defects / turns:.1%}" if turns else ""
        line = f"{name[:23]:<24}{turns:>12,}{defects:>12,}{share:>8}{row.get('corrected', 0):>12,}"
        basis = of_domain(thresholds, name).get("basis")
        lines.append(f"{line}  {SHORT[basis]}" if basis == "unknown" or (apart and basis) else line)
    if len(ordered) > _DOMAINS:
        lines.append(f"and {len(ordered) - _DOMAINS} more domains, in run.json")
    return lines
