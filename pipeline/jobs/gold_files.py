"""Labels of files beside the log: kept with the tables of stage ingest, and held against its turns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pipeline import storage
from pipeline.gold import GoldFiles, known_labels, unknown_turns
from pipeline.jobs.context import Context
from pipeline.tail.files import OPEN, RECENT
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import GOLD, TAIL, TURN


def keep_gold(context: Context, labels: GoldFiles, buckets: int, only_known: bool) -> dict[str, object]:
    """Write the labels of files beside those of the logs, as one bucket more; gives what is to be told of them.

    Where users are forgotten a label of an unknown turn may be of one of them, so it is not kept.
    """
    unknown = tell_unknown(context, labels)
    kept = known_labels(labels.table, turn_ids(context)) if only_known and unknown else labels.table
    if kept.num_rows:
        write_bucket(context.workspace.table("ingest", "gold"), buckets, kept, GOLD)
    return {"inputs": labels.inputs, "labels": kept.num_rows, "unknown": unknown}


def turn_ids(context: Context) -> Iterator[pa.Array]:
    """Ids of the turns, those of the tail too, an array a bucket."""
    for name, record in (("turns", TURN), (OPEN, TAIL), (RECENT, TAIL)):
        folder = context.workspace.table("ingest", name)
        for number in context.workspace.bucket_numbers(folder):
            yield storage.read_table(bucket_path(folder, number), record.schema, ["turn_id"])[
                "turn_id"
            ].combine_chunks()


def tell_unknown(context: Context, labels: GoldFiles) -> int:
    """Labels of turns that the log does not hold; they are counted, kept and of no effect."""
    unknown = unknown_turns(labels.table, turn_ids(context))
    if unknown:
        context.progress.note(
            f"gold: {unknown:,} of {labels.table.num_rows:,} label(s) are of turns that are not in the log "
            f"(of {', '.join(i['uri'] for i in labels.inputs[:3])}); is turn_id the log's own?"
        )
    return unknown
