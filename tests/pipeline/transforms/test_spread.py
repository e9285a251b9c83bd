"""Turns cut where they are read: every row once, in the bucket where what is cut later looks for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from build import turns

from pipeline.transforms.shuffle import KeyHash, whole
from pipeline.transforms.spread import DECIDING, ROWS, Spread
from pipeline.transforms.superseding import BATCH_ROW, DECIDES, marked

BUCKETS = 3


def test_pieces_hold_every_row_once_by_its_key(tmp_path: Path):
    batches = [turns(*({"turn_id": f"{b}-{k}", "subject_id": f"u{k}"} for k in range(20))) for b in "ab"]
    found = Spread(BUCKETS, str(tmp_path))([batches[0], batches[0].slice(0, 0), batches[1]])
    wanted = pa.concat_tables(map(marked, batches))
    for tag, key, columns in ((ROWS, "subject_id", wanted.column_names), (DECIDING, "turn_id", list(DECIDES))):
        pieces = [output.value for output in found if output.tag == tag]
        held = [(bucket, whole([path])[0]) for bucket, path in pieces]
        assert len({bucket for bucket, _ in pieces}) == len(pieces) > 1
        for bucket, table in held:
            assert table.column_names == columns
            assert set(KeyHash(key, BUCKETS)(table).tolist()) == {bucket}
        rows = pa.concat_tables(table for _, table in held)
        order = [("turn_id", "ascending"), (BATCH_ROW, "ascending")]
        assert rows.sort_by(order).equals(wanted.select(columns).sort_by(order))


def test_no_rows_make_no_files(tmp_path: Path):
    assert Spread(BUCKETS, str(tmp_path))([turns({}).slice(0, 0)]) == []
    assert not list(tmp_path.rglob("*"))
