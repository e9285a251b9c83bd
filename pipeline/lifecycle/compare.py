"""`afterword diff`: what changed from one release to another, by their manifests and their examples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, normalise
from pipeline import storage
from pipeline.errors import ConfigError
from pipeline.explain.release import Release, open_release
from pipeline.publish import CURRENT
from schemas import LABEL_KINDS, NO_DOMAIN

# What an example is found again by in the other release: its words in its locale, and which question it answers.
_WORDS: Final = ["locale", "words", "sort"]
_LABEL: Final = ["domain", "intent", "slots", "response", "rejected"]
_FIGURES: Final = ["split", "support"]
_READS: Final = ["example_id", "locale", "utterance", *_LABEL, "context", "kind", *_FIGURES]
# Of a turn before an answer, what is its own and no judgement of it.
_OF_CONTEXT: Final = ("utterance", "tool", "arguments", "response")


def compare(out: str, a: str, b: str, limit: int) -> dict[str, Any]:
    """Hold a release against another.

    Examples with a meaning are found again by locale and normalised utterance; answers, preferences and rejections by
    what they say and their context too. One with another label, or that is a correction now and was a confirmation, is
    `relabelled`; one in the other split `re_split`; of the rest, one with other support is listed under `support`.

    Parameters
    ----------
    out : str
        Output folder.
    a, b : str
        Release ids, their beginnings, or CURRENT.
    limit : int
        Examples to list of each change.

    Returns
    -------
    dict
        `a`, `b` (release ids); `inputs`, `gold` (`added`, `removed`, `changed` paths); `config`, `thresholds`, `counts`
        (key to [a, b] where they differ); `code`, `parent`, `models`, `tombstones` ([a, b] where they differ);
        `views` (view to [a, b] rows); `examples`: per change its `rows`, its rows `by` domain and kind, and `listed`.

    Raises
    ------
    ConfigError
        If no release, or several, have an id; or their examples are of different schemas.
    """
    first, second = (open_release(out, None if name == CURRENT else name, "") for name in (a, b))
    one, other = first.manifest, second.manifest
    told: dict[str, Any] = {"a": first.id, "b": second.id}
    for kind in ("inputs", "gold"):
        told[kind] = _files(one["identity"][kind], other["identity"][kind])
    for name in ("config", "models"):
        told[name] = differing(one["identity"][name], other["identity"][name])
    told["identity"] = differing(
        {k: v for k, v in one["identity"].items() if k not in ("inputs", "gold", "config", "models")},
        {k: v for k, v in other["identity"].items() if k not in ("inputs", "gold", "config", "models")},
    )
    for name in ("thresholds", "counts"):
        told[name] = differing(one[name], other[name])
    told["quarantine"] = differing(one["quarantine"], other["quarantine"])
    told["views"] = {k: v for k, v in _pairs(_view_rows(one), _view_rows(other), 0).items() if v[0] != v[1]}
    told["examples"] = _examples(_lineage(first), _lineage(second), limit)
    return told


def differing(a: Any, b: Any) -> dict[str, list[Any]]:
    """Values of nested dicts that differ, by dotted key, as [a, b]; None = not there."""
    return {k: v for k, v in _pairs(dict(_flat(a, "")), dict(_flat(b, "")), None).items() if v[0] != v[1]}


def _pairs(a: dict[str, Any], b: dict[str, Any], absent: Any) -> dict[str, list[Any]]:
    return {k: [a.get(k, absent), b.get(k, absent)] for k in sorted({*a, *b})}


def _flat(value: Any, prefix: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield prefix, value
        return
    for key, held in value.items():
        yield from _flat(held, f"{prefix}.{key}" if prefix else str(key))


def _files(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> dict[str, list[str]]:
    one, other = ({f["uri"]: f["sha256"] for f in files} for files in (a, b))
    return {
        "added": sorted(set(other) - set(one)),
        "removed": sorted(set(one) - set(other)),
        "changed": sorted(uri for uri in set(one) & set(other) if one[uri] != other[uri]),
    }


def _view_rows(manifest: dict[str, Any]) -> dict[str, int]:
    out: dict[str, int] = {}
    for path, facts in manifest["files"].items():
        view, inside, name = path.partition("/data/")
        if inside:
            key = f"{view}.{name.partition('-')[0]}"
            out[key] = out.get(key, 0) + facts["rows"]
    return out


def _lineage(release: Release) -> pd.DataFrame:
    """Examples of a release in what they are compared by."""
    paths = [path for path in release.manifest["files"] if path.startswith("lineage/data/")]
    tables = []
    for path in paths:
        with storage.open_parquet(storage.join(release.folder, path)) as file:
            missing = set(_READS) - set(file.schema_arrow.names)
            if missing:
                raise ConfigError(
                    f"{release.folder}: its examples have no {', '.join(sorted(missing))}; they are of code "
                    f"{release.manifest['identity']['code']}, and this one cannot compare them"
                )
            tables.append(_compared(file.read(columns=_READS)))
    names = ["example_id", *_WORDS, "what", "text", "domain", "kind", "label", *_FIGURES]
    frame = pd.concat([t.to_pandas() for t in tables]) if tables else pd.DataFrame({n: [] for n in names})
    return frame.sort_values(["example_id"]).reset_index(drop=True)


def _compared(table: pa.Table) -> pa.Table:
    kind = flat(table["kind"])
    meaning = pc.is_in(kind, value_set=pa.array(LABEL_KINDS))
    labels = pa.array([_json(row) for row in table.select(_LABEL).to_pylist()], pa.string())
    before = [[{k: t[k] for k in _OF_CONTEXT} for t in turns or []] for turns in table["context"].to_pylist()]
    told = pc.binary_join_element_wise(labels, pa.array([_json(turns) for turns in before], pa.string()), "\n")
    return pa.table(
        {
            "example_id": table["example_id"],
            "locale": pc.fill_null(flat(table["locale"]), ""),
            "words": normalise(table["utterance"]),
            "sort": pc.if_else(meaning, "meaning", kind),
            "what": pc.if_else(meaning, "", told),
            "text": table["utterance"],
            "domain": pc.fill_null(flat(table["domain"]), NO_DOMAIN),
            "kind": kind,
            "label": labels,
            "split": table["split"],
            "support": table["support"],
        }
    )


def _json(value: Any) -> str:
    return storage.canonical_json(value).decode()


def _examples(a: pd.DataFrame, b: pd.DataFrame, limit: int) -> dict[str, Any]:
    """The changes; several answers to the same words are told apart by what they say."""
    keys = [*_WORDS, "what"]
    # What both splits have for themselves, a rejection for example, is told apart by its order.
    numbered = [f.assign(nth=f.groupby(keys, sort=False).cumcount()) for f in (a, b)]
    both = numbered[0].merge(numbered[1], on=[*keys, "nth"], how="outer", suffixes=("_a", "_b"), indicator=True)
    shared = both["_merge"] == "both"
    relabelled = shared & ((both["label_a"] != both["label_b"]) | (both["kind_a"] != both["kind_b"]))
    moved = shared & (both["split_a"] != both["split_b"])
    changes = {
        "added": both["_merge"] == "right_only",
        "removed": both["_merge"] == "left_only",
        "relabelled": relabelled,
        "re_split": moved,
        "support": shared & ~relabelled & ~moved & (both["support_a"] != both["support_b"]),
    }
    told: dict[str, Any] = {name: _change(name, both[rows], limit) for name, rows in changes.items()}
    unchanged = shared & ~relabelled & ~moved & ~changes["support"]
    return told | {"rows": [len(a), len(b)], "unchanged": int(unchanged.sum())}


def _change(name: str, rows: pd.DataFrame, limit: int) -> dict[str, Any]:
    side = "a" if name == "removed" else "b"
    by = rows.groupby([f"domain_{side}", f"kind_{side}"]).size().reset_index(name="rows")
    return {
        "rows": len(rows),
        "by": [dict(zip(("domain", "kind", "rows"), row, strict=True)) for row in by.to_numpy().tolist()],
        "listed": [_row(r, side) for r in rows.sort_values(f"example_id_{side}").head(limit).to_dict("records")],
    }


def _row(row: dict[str, Any], side: str) -> dict[str, Any]:
    """An example as it is listed: what it is, and what of it changed as [a, b]."""
    told: dict[str, Any] = {"example_id": row[f"example_id_{side}"], "utterance": row[f"text_{side}"]}
    for name in ("kind", "label", "split", "support"):
        pair = [row[f"{name}_a"], row[f"{name}_b"]]
        if row["_merge"] != "both":
            told[name] = _plain(row[f"{name}_{side}"])
        elif pair[0] != pair[1]:
            told[name] = [_plain(v) for v in pair]
    return told


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value
