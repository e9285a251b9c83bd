"""Prove from a release's files alone that what it hands to the next run is what its configuration says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from features.timeline import ORDER, READS, sort
from pipeline.errors import VerifyError
from pipeline.tail.files import LABELS, OPEN, RECENT, files_of
from pipeline.tail.made_of import made_of
from pipeline.tail.sessions import NOBODY, TAKEN, divide
from pipeline.tail.takeover import interval_of

_READS: Final = sorted({*READS, *(name for name, _ in ORDER)})

Reader = Callable[[str], pa.Table]


def prove_tail(manifest: Mapping[str, Any], read: Reader, behind: pa.Array) -> str:
    """Open sessions are open, recent ones recent, none is both or behind an example, and labels are of them.

    Parameters
    ----------
    manifest : mapping
    read : callable
        A file of the release as a table.
    behind : pyarrow.StringArray
        Turns behind the release's own examples.

    Raises
    ------
    VerifyError
        At the first claim that does not hold.
    """
    told, found = made_of(manifest), manifest.get("made_of")
    if told != found:
        raise VerifyError(f"manifest: made_of says {found}, the identity, counts and files say {told}")
    if told is None:
        if files := files_of(manifest):
            raise VerifyError(f"{min(files)}: the release is not one of a row, and hands nothing on")
        return "by itself (without ingest.incremental): nothing was taken over, and nothing is handed on"
    if told["handed_on"][OPEN] != told["left_open"]:
        raise VerifyError(
            f"tail: {told['handed_on'][OPEN]} open turns written, {told['left_open']} left open by ingest"
        )
    ids = {
        kind: [_prove_file(manifest, path, kind, read) for path in files_of(manifest, kind)] for kind in (OPEN, RECENT)
    }
    opened, recent = (pa.concat_arrays([pa.array([], pa.string()), *ids[kind]]) for kind in (OPEN, RECENT))
    _none_of(opened, recent, "is open, and was judged")
    _none_of(opened, behind, "is open, and behind an example")
    for path in files_of(manifest, LABELS):
        stray = pc.invert(pc.is_in(flat(read(path)["turn_id"]), value_set=pa.concat_arrays([opened, recent])))
        if pc.any(stray).as_py():
            raise VerifyError(f"{path}: a label of a turn that is not handed on")
    return (
        f"{len(opened):,} turns of open and {len(recent):,} of judged sessions are handed to the next run, as they are"
    )


def _prove_file(manifest: Mapping[str, Any], path: str, kind: str, read: Reader) -> pa.Array:
    """Each session in a file is what the file's name says; gives the turns' ids. A subject lies in one file."""
    turns = sort(read(path).select(_READS))
    turns = turns.append_column(TAKEN, pa.repeat(NOBODY if kind == OPEN else "judged", turns.num_rows))
    parts = divide(turns, turns.slice(0, 0), interval_of(manifest["identity"]["config"]))
    wrong = np.flatnonzero(~(parts.open if kind == OPEN else parts.recent))
    if len(wrong):
        row = turns.slice(wrong[0], 1).to_pylist()[0]
        raise VerifyError(f"{path}: the session of turn {row['turn_id']} at {row['event_time']} is not {kind}")
    return flat(turns["turn_id"])


def _none_of(ids: pa.Array, others: pa.Array, what: str) -> None:
    both = ids.filter(pc.is_in(ids, value_set=others))
    if len(both):
        raise VerifyError(f"tail: turn {both[0].as_py()} {what}")
