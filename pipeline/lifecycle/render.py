"""What the commands over releases print."""

from __future__ import annotations

from typing import Any, Final

_LISTED: Final = 5
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
