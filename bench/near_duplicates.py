"""MinHash for near-duplicates three ways: NumPy as the product has it, datasketch, rensa. Seconds, ratios, recall.

    make bench-dedup                                    200,000 distinct utterances, and the stage on a million
    python -m bench.near_duplicates --texts 50000       fewer; --stage 0 leaves the stage out
    python -m bench.near_duplicates --exact 50000       exact comparison of so many too, or of several numbers

Each gets the same hashed letter sequences, and gives the pairs of texts that share a band: of equally many bands and
rows, so equal pairs are to be expected. `recall` is the share of the pairs that are alike, as any of the three found
them and exact comparison confirms. Seconds are of the processor, one thread. A text is a sentence of HWU64 or SLURP
with up to three words exchanged or a letter lost; without the data, of made-up words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.speed import machine, watched
from features.hashing import hash64, hash128_hex
from features.text import normalise
from pipeline import storage
from pipeline.curation.candidates import pairs
from pipeline.curation.exact import alike_pairs, cut_rows
from pipeline.curation.minhash import bands_for
from pipeline.curation.near import NearOptions, band_rows
from pipeline.curation.shingles import Shingles, jaccard, shingles, windows
from pipeline.transforms.write import write_bucket
from schemas import EXAMPLE

I64 = npt.NDArray[np.int64]
TEXTS: Final = 200_000
STAGE: Final = 1_000_000
# datasketch takes one text at a time; its figures are of so many, and scaled.
_SLOW: Final = 20_000
_BUCKET_ROWS: Final = 100_000
_LIKENESS, _WIDTH = 0.8, 4
_INTENTS: Final = 60
# One sentence with other numbers is the worst case, which grows with the square.
_NUMBERS: Final = 50_000
BANDS: Final = bands_for(_LIKENESS)


def sentences(data: Path | None) -> list[str]:
    """Distinct sentences to vary."""
    found: set[str] = set()
    for name in ("hwu64", "slurp"):
        for path in sorted((data / name).glob("*.jsonl.gz")) if data else ():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                rows = map(json.loads, lines)
                found |= {r[k].lower() for r in rows for k in ("text", "sentence") if isinstance(r.get(k), str)}
    draw = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnoprstuvw"))
    made = ["".join(letters[draw.integers(0, 22, draw.integers(2, 9))]) for _ in range(4000)]
    return sorted(found) or [" ".join(draw.choice(made, draw.integers(4, 11))) for _ in range(10_000)]


def varied(base: list[str], n: int) -> list[str]:
    """N distinct texts, each a sentence that is changed a little."""
    draw = np.random.default_rng(0)
    words = sorted({w for text in base for w in text.split()})
    held: dict[str, None] = {}
    while len(held) < n:
        text = base[draw.integers(len(base))].split()
        for _ in range(draw.integers(0, 4)):
            text[draw.integers(len(text))] = words[draw.integers(len(words))]
        whole = " ".join(text)
        if draw.random() < 0.3:
            at = int(draw.integers(len(whole)))
            whole = whole[:at] + whole[at + 1 :]
        held.setdefault(whole)
    return list(held)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what came out."""
    begin = time.process_time()
    out = function()
    return time.process_time() - begin, out


def by_numpy(held: Shingles, examples: pa.Table) -> tuple[float, float, set[tuple[int, int]]]:
    """The product's own: seconds of the signatures and of the pairs."""
    near = NearOptions(_LIKENESS, _WIDTH)
    signing, _ = timed(lambda: BANDS.sign(held))
    rows = band_rows(examples, np.arange(examples.num_rows), near)
    pairing, found = timed(lambda: list(pairs(rows, _LIKENESS)))
    return signing, pairing, {p for t in found for p in zip(*(c.to_pylist() for c in t.columns), strict=True)}


def by_rensa(held: Shingles) -> tuple[float, float, set[tuple[int, int]]]:
    """Rensa's batch signatures from hashes, and its index."""
    import rensa

    many, hashes, offsets = BANDS.bands * BANDS.rows, held.hashes.astype(np.uint64), held.offsets.astype(np.uint64)
    signing, matrix = timed(lambda: rensa.RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, many, 1))
    # The index is asked text by text, by objects; the way from its matrix to them is by lists.
    listing, rows = timed(lambda: np.array(matrix.to_rows(), np.uint32))
    pairing, found = timed(lambda: _banded(rows))
    return signing + listing, pairing, found


def _banded(signatures: npt.NDArray[np.uint32]) -> set[tuple[int, int]]:
    """Pairs of rows that share a band."""
    from features.hashing import mix

    found: set[tuple[int, int]] = set()
    for band in range(BANDS.bands):
        key = np.full(len(signatures), band, np.int64)
        for k in range(band * BANDS.rows, (band + 1) * BANDS.rows):
            key = mix(key, signatures[:, k].astype(np.int64))
        order = np.argsort(key, kind="stable")
        starts = np.searchsorted(key[order], key[order])
        many = np.arange(len(order)) - starts
        at = np.repeat(starts - (np.cumsum(many) - many), many) + np.arange(many.sum())
        found |= set(zip(order[at].tolist(), np.repeat(order, many).tolist(), strict=True))
    return found


def by_datasketch(held: Shingles) -> tuple[float, float, set[tuple[int, int]]]:
    """Datasketch's signatures and index, text by text."""
    from datasketch import MinHash, MinHashLSH

    many = BANDS.bands * BANDS.rows
    lists = np.split(held.hashes.astype(np.uint64), held.offsets[1:-1])

    def sign() -> list[Any]:
        made = []
        first = MinHash(num_perm=many, hashfunc=int)
        for tokens in lists:
            one = first.copy()
            one.update_batch(tokens.tolist())
            made.append(one)
        return made

    def pair() -> set[tuple[int, int]]:
        index = MinHashLSH(num_perm=many, params=(BANDS.bands, BANDS.rows))
        found = set()
        for k, one in enumerate(made):
            found |= {(other, k) for other in index.query(one)}
            index.insert(k, one)
        return found

    signing, made = timed(sign)
    pairing, found = timed(pair)
    return signing, pairing, found


def alike(held: Shingles, found: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs that exact comparison confirms."""
    both = np.array(sorted(found), np.int64).reshape(-1, 2)
    share = jaccard(held.take(both[:, 0]), held.take(both[:, 1]))
    return {(int(a), int(b)) for a, b in both[share >= _LIKENESS]}


def examples_of(texts: list[str]) -> pa.Table:
    """EXAMPLE rows of one label, and so of one group."""
    row = {
        "locale": "en",
        "intent": "i",
        "slots": [],
        "kind": "correction",
        "blame": "none",
        "confidence": 1.0,
        "support": 2,
        "certified": False,
        "provenance": {"turn_ids": ["t"], "supporting_turns": [], "domains": ["d"], "licences": [], "subjects": ["s"]},
        "split": "train",
        "weight": 1.0,
    }
    one = pa.Table.from_pylist(
        [dict.fromkeys(EXAMPLE.names) | row | {"example_id": "", "utterance": ""}], EXAMPLE.schema
    )
    table = one.take(pa.array(np.zeros(len(texts), np.int64)))
    said = np.array(texts, object)
    hashes = hash64(said, "afterword/bench1")
    changed = {
        "example_id": pa.array(hash128_hex(said), pa.string()),
        "utterance": pa.array(said, pa.string()),
        "intent": pa.array([f"i{k}" for k in (hashes % np.uint64(_INTENTS)).tolist()], pa.string()),
        "split": pa.array(
            np.where(hashes >> np.uint64(32) & np.uint64(15) == 0, "test", "train").astype(object), pa.string()
        ),
    }
    for name, values in changed.items():
        table = table.set_column(table.column_names.index(name), table.schema.field(name), values)
    return table


def compare(texts: list[str]) -> dict[str, float]:
    """The three side by side, seconds a million texts."""
    words = normalise(pa.array(texts))
    own = examples_of(texts)
    own = own.set_column(own.column_names.index("intent"), "intent", pa.array(["i"] * len(texts)))
    own = own.set_column(own.column_names.index("split"), "split", pa.array(["train"] * len(texts)))
    held, exact = windows(words, _WIDTH), shingles(words, _WIDTH)
    cutting, _ = timed(lambda: windows(words, _WIDTH))
    some = min(_SLOW, len(texts))
    told = {
        "numpy": by_numpy(held, own),
        "rensa": by_rensa(exact),
        "datasketch": by_datasketch(exact.take(np.arange(some))),
    }
    figures: dict[str, float] = {"texts": len(texts), "shingles.s_per_million": cutting / len(texts) * 1e6}
    true = set().union(*(alike(exact, found) for *_, found in told.values()))
    figures["alike"] = len(true)
    for name, (signing, pairing, found) in told.items():
        n = some if name == "datasketch" else len(texts)
        wanted = {p for p in true if max(p) < n}
        figures |= {
            f"{name}.sign.s_per_million": signing / n * 1e6,
            f"{name}.pair.s_per_million": pairing / n * 1e6,
            f"{name}.s_per_million": (signing + pairing) / n * 1e6,
            f"{name}.recall": len(wanted & found) / max(len(wanted), 1),
            f"{name}.pairs_per_text": len(found) / n,
        }
    for name in ("rensa", "datasketch"):
        figures[f"{name}.vs_numpy"] = figures[f"{name}.s_per_million"] / figures["numpy.s_per_million"]
    return figures


def exactly(base: list[str], n: int) -> dict[str, float]:
    """Seconds of exact comparison, the cutting into sequences included: some labels, one, one sentence with numbers."""
    corpus = examples_of(varied(base, n))
    one, said = (corpus.schema.get_field_index(name) for name in ("intent", "utterance"))
    label = pa.array(["i"] * n, pa.string())
    counted = corpus.set_column(said, "utterance", pa.array([f"set an alarm for {k:06}" for k in range(n)]))
    logs = {"labels": corpus, "one_label": corpus.set_column(one, "intent", label)}
    if n <= _NUMBERS:
        logs["numbers"] = counted.set_column(one, "intent", label)
    figures: dict[str, float] = {}
    for name, examples in logs.items():
        seconds, pairs_of = timed(lambda examples=examples: _exact_pairs(examples))
        figures |= {f"exact.{n}.{name}.s": seconds, f"exact.{n}.{name}.pairs": pairs_of}
    return figures


def _exact_pairs(examples: pa.Table) -> int:
    """How many pairs are alike; one that comes twice counts twice."""
    rows = cut_rows(examples, np.arange(examples.num_rows), _WIDTH)
    return sum(len(first) for first, _, _ in alike_pairs(rows, _LIKENESS))


def stage(texts: list[str]) -> dict[str, float]:
    """The product's round over buckets of examples, in a process of its own."""
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "in"
        buckets = -(-len(texts) // _BUCKET_ROWS)
        for k in range(buckets):
            part = examples_of(texts[k::buckets])
            write_bucket(str(source), k, part.sort_by("example_id"), EXAMPLE)
        run = watched([sys.executable, "-m", "bench.near_duplicates", "--work", work, "--buckets", str(buckets)])
    told = json.loads(run.out.splitlines()[-1])
    return {f"stage.{k}": v for k, v in told.items()} | {"stage.texts": len(texts), "stage.peak_mib": run.peak_mib}


def run_stage(work: Path, buckets: int) -> dict[str, float]:
    """One round of near-duplicates; seconds by the clock and of the processor."""
    import apache_beam as beam

    from pipeline.curation.select import Apply, Sift
    from pipeline.curation.shuffling import Shuffling
    from pipeline.gates.counts import by_outcome
    from pipeline.jobs.context import numbers, pipeline_options, write_one
    from pipeline.transforms.counts import total
    from schemas import COUNT

    apply = Apply(str(work / "in"), str(work / "out"), str(work / "left"), 0, True, 2)
    shuffling = Shuffling(buckets, "spill", str(work / "spill"), 2)
    sift = Sift((), NearOptions(_LIKENESS, _WIDTH), apply, str(work / "in"), shuffling)
    wall, processor = time.monotonic(), time.process_time()
    with beam.Pipeline(options=pipeline_options([])) as pipeline:
        write_one(total(numbers(pipeline, list(range(buckets))) | sift), str(work / "counts.parquet"), COUNT)
    told = {"wall_s": time.monotonic() - wall, "processor_s": time.process_time() - processor}
    from pipeline import storage

    counts = by_outcome(storage.read_table(str(work / "counts.parquet"), COUNT.schema))
    return told | {f"left_out.{k}": counts.get(k, 0) for k in ("near_duplicate", "duplicate_across_splits")}


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with hwu64/ and slurp/")
    parser.add_argument("--out", type=Path, default=Path("out/near_duplicates.json"))
    parser.add_argument("--texts", type=int, default=TEXTS, help="texts for the comparison; 0 = none")
    parser.add_argument("--stage", type=int, default=STAGE, help="examples for the product's round; 0 = none")
    parser.add_argument("--exact", type=int, nargs="*", default=[], help="examples for exact comparison")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--buckets", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(run_stage(arguments.work, arguments.buckets)))
        return 0
    base = sentences(arguments.data)
    figures: dict[str, Any] = machine()
    if arguments.texts:
        figures |= compare(varied(base, arguments.texts))
    for n in arguments.exact:
        figures |= exactly(base, n)
    if arguments.stage:
        figures |= stage(varied(base, arguments.stage))
    rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}
    storage.write_bytes(str(arguments.out), storage.readable_json(rounded))
    for key, value in rounded.items():
        print(f"{key:<36}{value:>16}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
