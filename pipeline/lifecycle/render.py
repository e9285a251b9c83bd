"""What the commands over releases print."""

from __future__ import annotations

from typing import Any, Final

_LISTED: Final = 5
# Keys of a manifest section that are printed; of one value so many characters.
_CAP: Final = 40
_WIDTH: Final = 72
_PATHS: Final = {
    "recompute": "the stages were run again without the user",
    "withdraw": "every example that the user is behind was withdrawn from its own files",
    "none": "it holds nothing of the user",
}


def forget_text(told: dict[str, Any]) -> str:
    """What was forgotten, how, and what remains."""
    would = "would be " if told["dry_run"] else ""
    lines = [
        f"tombstones   {len(told['macs']):,} in force",
        f"turns        {told['turns']:,} of the user known here",
        *(
            f"release      {name[:12]} holds {n:,} example(s) of the user"
            for name, n in sorted(told["examples"].items())
        ),
        f"current      {(told['current'] or 'none')[:12]}: {_PATHS[told['path']]}"
        + (f" ({told['reason']})" if told["reason"] else ""),
    ]
    if told["replaced_by"]:
        lines.append(f"replaced by  {told['replaced_by'][:12]}")
    for kind, names in sorted(told["removed"].items()):
        if names:
            more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
            lines.append(f"{would}removed  {kind}: {', '.join(n[:48] for n in names[:_LISTED])}{more}")
    for model in told["models"]:
        fate = "fitted anew" if model["refit"] else "learned from the user, or may have; not fitted anew"
        lines.append(f"model        {str(model['defect'])[:12]} of release {model['release_id'][:12]}: {fate}")
    for name, release_id in sorted(told["moved_pins"].items()):
        lines.append(f"pin          {name}: {'now ' + release_id[:12] if release_id else 'taken away'}")
    for name, release_id in told.get("pinned", {}).items():
        lines.append(f"pinned       {name}: {release_id[:12]} holds the user; move the pin, or give --force")
    lines += [f"remains      {text}" for text in told["remains"]]
    lines.append("nothing was changed" if told["dry_run"] else f"record       {told['record']}")
    return "\n".join(lines)


def rollback_text(told: dict[str, Any]) -> str:
    """Which release is current now."""
    return "\n".join(
        [f"verified  {proof}" for proof in told["proofs"]]
        + [f"current   {told['release_id']}", f"before    {told['before']}"]
    )


def pin_text(told: dict[str, Any]) -> str:
    """The pins as they are now."""
    return "\n".join(f"{name:<24} {release_id}" for name, release_id in sorted(told["pins"].items())) or "no pins"


def gc_text(told: dict[str, Any]) -> str:
    """What can go, and what is kept and why."""
    lines = [f"kept      {name[:12]}  {', '.join(why)}" for name, why in sorted(told["kept"].items())]
    for item in told["items"]:
        lines.append(f"{item['kind']:<9} {item['bytes']:>14,} bytes  {item['path']}")
    verb = "removed" if told["deleted"] else "could be removed; give --delete"
    lines.append(f"{len(told['items']):,} item(s), {told['bytes']:,} bytes {verb}")
    return "\n".join(lines)


def diff_text(told: dict[str, Any]) -> str:
    """What changed, the cause before the effect."""
    lines = [f"from  {told['a']}", f"to    {told['b']}"]
    for kind in ("inputs", "gold"):
        for change, paths in told[kind].items():
            lines += [f"{kind:<11} {change}: {path}" for path in _capped(paths)]
    for section in ("identity", "config", "models", "thresholds", "quarantine", "counts", "views"):
        pairs = [f"{section:<11} {key}: {_short(a)} -> {_short(b)}" for key, (a, b) in told[section].items()]
        lines += pairs if section in ("config", "views") else _capped(pairs, _CAP)
    examples = told["examples"]
    lines.append(f"examples    {examples['rows'][0]:,} -> {examples['rows'][1]:,}, {examples['unchanged']:,} unchanged")
    for change in ("added", "removed", "relabelled", "re_split", "support"):
        lines += _change(change, examples[change])
    return "\n".join(lines)


def _change(name: str, told: dict[str, Any]) -> list[str]:
    if not told["rows"]:
        return []
    by = ", ".join(f"{e['domain']} {e['kind']} {e['rows']:,}" for e in told["by"])
    lines = [f"{name.replace('_', '-'):<11} {told['rows']:,}: {by}"]
    for row in told["listed"]:
        facts = [f"{k} {_arrow(v)}" for k, v in row.items() if k not in ("example_id", "utterance")]
        lines.append(f"  {row['example_id'][:12]}  {_short(row['utterance'])!r}  {', '.join(facts)}")
    if told["rows"] > len(told["listed"]):
        lines.append(f"  and {told['rows'] - len(told['listed']):,} more")
    return lines


def _arrow(value: Any) -> str:
    return " -> ".join(_short(v) for v in value) if isinstance(value, list) else _short(value)


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _capped(lines: list[str], cap: int = _LISTED) -> list[str]:
    more = [f"            and {len(lines) - cap:,} more, in --json"] if len(lines) > cap else []
    return lines[:cap] + more
