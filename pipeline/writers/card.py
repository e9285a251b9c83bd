"""The release's README: what is in it, for people, and the `configs` that Hugging Face `load_dataset` reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipeline.gates.quarantine import reason
from pipeline.tail.made_of import section
from pipeline.writers.contents import by_domain, left_out, limits, rights
from pipeline.writers.trust import how_sure
from pipeline.writers.views import VIEWS, unwritten


def card(manifest: dict[str, Any]) -> str:
    """The card of a release, from its manifest. Holds no clock: the same release has the same card."""
    counts = manifest["counts"]
    label, released = counts["label"], counts["release"]
    lines = [
        *_front_matter(manifest["files"]),
        f"# Release {manifest['release_id'][:12]}",
        "",
        "Supervision inferred from dialog logs by Afterword. `manifest.json` lists every file with its hash; "
        "`afterword verify` proves it.",
        "",
        "| | |",
        "|---|---|",
        f"| turns | {label.get('kept', 0):,} |",
        f"| from, to | {manifest['window']['first']} .. {manifest['window']['last']} |",
        f"| turns judged defective | {label.get('defects', 0):,} ({label.get('defects_certified', 0):,} certified) |",
        f"| turns corrected | {label.get('corrected', 0):,} ({label.get('corrected_certified', 0):,} certified) |",
        f"| examples | {released.get('kept', 0) + released.get('carried', 0):,} |",
        *(
            f"| examples, {k.removeprefix('examples.').replace('.', ', ')} | {v:,} |"
            for k, v in sorted(released.items())
            if k.startswith("examples.")
        ),
        "",
        *section(manifest),
        *_views(manifest["files"], released),
        *by_domain(manifest),
        *left_out(manifest),
        *rights(manifest),
        *how_sure(manifest),
        *_quarantined(manifest["quarantine"]),
        "## Known limits",
        "",
        *limits(manifest),
        "- `confidence` is a model's probability, not a person's judgement.",
        "- An example pools every user who said the same words; what is right for most may be wrong for one.",
        "- Slots whose value does not stand in the text have no BIO tag.",
        "- Arguments of tool calls are text, as logged; the tools' own descriptions and results are not logged.",
        "- Trainers that mask by role learn every assistant message of `sft`, those of the context too. None of them "
        "was judged defective, or has a p(defect) over `curate.context_below`.",
        "",
    ]
    return "\n".join(lines)


def _quarantined(quarantine: dict[str, Any]) -> list[str]:
    """Domains whose new examples are not in the release, and why."""
    if not quarantine["domains"]:
        return []
    lines = [
        f"- {reason(name, entry)}: {entry['withheld']:,} new examples left out, {entry['carried']:,} carried over."
        for name, entry in quarantine["domains"].items()
    ]
    source = quarantine["carried_from"]
    carried = f" Carried over from release {source[:12]}." if source else ""
    return ["## Quarantined domains", "", *lines, "", f"Nothing new is released of them.{carried}", ""]


def _front_matter(files: Iterable[str]) -> list[str]:
    """YAML with one config a view, one data file pattern a split."""
    views: dict[str, set[str]] = {}
    for path in files:
        view, _, rest = path.partition("/data/")
        if rest:
            views.setdefault(view, set()).add(rest.split("-")[0])
    lines = ["---", "configs:"]
    ordered = [*(v for v in VIEWS if v in views), *sorted(views.keys() - VIEWS.keys())]
    for view in ordered:
        lines.append(f"- config_name: {view}")
        if view == ordered[0] and view in VIEWS:
            lines.append("  default: true")
        lines.append("  data_files:")
        for split in sorted(views[view], key=lambda s: (s != "train", s)):
            lines += [f"  - split: {split}", f"    path: {view}/data/{split}-*.parquet"]
    return [*lines, "---", ""] if views else []


def _views(files: dict[str, dict[str, Any]], counts: dict[str, int]) -> list[str]:
    """Each view with its rows and what they are, and what is not written of one."""
    lines = []
    for name, view in VIEWS.items():
        rows = sum(f["rows"] for path, f in files.items() if path.startswith(f"{name}/data/"))
        lines.append(f"| `{name}` | {rows:,} | {view.record.meaning} |")
    left = [
        f"- The {rows:,} rows of `{view}` in split {split} all have the same label, which its trainer refuses: "
        "they are not written."
        for (split, view), rows in unwritten(counts).items()
    ]
    return ["## Views", "", "| view | rows | what |", "|---|---|---|", *lines, "", *left, *([""] if left else [])]
