"""The release as a Croissant 1.0 data set (Akhtar et al. 2024, arXiv 2403.19546), for tools that read data by it.

Fields follow from the records, so that nothing is said of a column that its record does not say. Of a list of objects
the members that are no objects themselves are described; Croissant has no form for deeper ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from pipeline.writers.licences import under
from pipeline.writers.views import VIEWS
from schemas import DEAD_LETTER, EXAMPLE, LEFT_OUT, Column, Record

NAME: Final = "croissant.json"
_PARQUET: Final = "application/x-parquet"
_TERMS: Final = (
    "citeAs column conformsTo dataType equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform"
)


def croissant(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a release, from its manifest. Holds no clock: the same release has the same description."""
    files = {path: facts for path, facts in manifest["files"].items() if path.endswith(".parquet")}
    held = {path.split("/")[0] for path in files}
    tables = {**{name: view.record for name, view in VIEWS.items()}, "lineage": EXAMPLE}
    # What is there beside the views, for people and for proofs.
    tables |= {"left_out": LEFT_OUT, "dead_letters": DEAD_LETTER}
    window = manifest["window"]
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"afterword-{manifest['release_id'][:12]}",
        "description": "Supervision inferred from dialog logs. README.md is its card, manifest.json lists every file.",
        "version": "1.0.0",
        "identifier": manifest["release_id"],
        "temporalCoverage": f"{window['first']}/{window['last']}",
        "datePublished": _date(manifest),
        "citeAs": f"Afterword release {manifest['release_id']}, inferred from turns of {window['first']} to "
        f"{window['last']}",
        **({"license": named} if (named := under(manifest["counts"]["release"])) else {}),
        "isLiveDataset": False,
        "distribution": [
            *(_file(path, facts) for path, facts in sorted(files.items())),
            *(_file_set(name) for name in tables if name in held),
        ],
        "recordSet": [_record_set(name, record) for name, record in tables.items() if name in held],
    }


def _date(manifest: Mapping[str, Any]) -> str:
    """The day that the release is as of: the end of its interval, else its latest turn. No clock: see `croissant`."""
    interval = manifest.get("interval")
    return str(interval["end"] if interval else manifest["window"]["last"])[: len("2026-03-01")]


def _context() -> dict[str, Any]:
    """What the names mean, as version 1.0 gives it."""
    context: dict[str, Any] = {term: f"cr:{term}" for term in _TERMS.split()}
    return context | {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    }


def _file(path: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{facts['bytes']} B",
        "encodingFormat": _PARQUET,
        "sha256": facts["sha256"],
    }


def _file_set(name: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": _files_of(name),
        "name": _files_of(name),
        "encodingFormat": _PARQUET,
        "includes": f"{name}/data/*.parquet",
    }


def _files_of(name: str) -> str:
    return f"{name}-files"


def _record_set(name: str, record: Record) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": record.meaning,
        "key": [{"@id": f"{name}/{column}"} for column in record.key],
        "field": [field for column in record.columns for field in _fields(name, column)],
    }


def _fields(name: str, column: Column) -> Iterable[dict[str, Any]]:
    """The field of a column; none for a list of lists."""
    about = {"@type": "cr:Field", "@id": f"{name}/{column.name}", "name": column.name, "description": column.meaning}
    source = {"fileSet": {"@id": _files_of(name)}, "extract": {"column": column.name}}
    listed = pa.types.is_list(column.type)
    kind = column.type.value_type if listed else column.type
    if pa.types.is_struct(kind):
        members = [m for m in kind if not pa.types.is_nested(m.type)]
        repeated = {"repeated": True} if listed else {}
        yield (
            about
            | repeated
            | {
                "subField": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{name}/{column.name}/{member.name}",
                        "name": member.name,
                        "dataType": _data_type(member.type),
                        "source": source | {"transform": {"jsonPath": member.name}},
                    }
                    for member in members
                ]
            }
        )
    elif not pa.types.is_nested(kind):
        array = {"isArray": True, "arrayShape": "-1"} if listed else {}
        yield about | {"dataType": _data_type(kind), "source": source} | array


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "cr:Int64"
    return "cr:Float64" if pa.types.is_floating(kind) else "sc:Text"
