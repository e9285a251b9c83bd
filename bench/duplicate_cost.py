"""What leaving near-duplicates out costs an intent classifier: the choice of `curate.duplicate_likeness`.

    make bench-dedup        beside the comparison of MinHash
    python -m bench.duplicate_cost --data ../shared/data

HWU64, three folds by a hash of the text. A linear-time classifier (complement naive Bayes over words and word pairs)
learns two folds less what would be left out, and reads the third whole. Beside it what leaving out as many at random
costs. `purity` is the share of the pairs so alike that have one intent: how often near words mean the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import hash64
from features.text import normalise
from pipeline import storage
from pipeline.curation.candidates import BAND, pairs
from pipeline.curation.minhash import Bands
from pipeline.curation.resolve import greedy
from pipeline.curation.shingles import jaccard, shingles, windows

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
FOLDS: Final = 3
LIKENESS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
WIDTH: Final = 4
# Rows of three: pairs that are half alike are found too, which the stage's own bands would miss.
_WIDE: Final = Bands(60, 3)


def read(data: Path) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """Distinct normalised texts, and the intent that each has first."""
    found: dict[str, str] = {}
    for path in sorted((data / "hwu64").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for text, row in zip(normalise(pa.array([r["text"] for r in rows])).to_pylist(), rows, strict=True):
            found.setdefault(text, row["intent"])
    return np.array(list(found), object), np.array(list(found.values()), object)


def all_pairs(texts: npt.NDArray[np.object_]) -> tuple[I64, I64, npt.NDArray[np.float64]]:
    """Pairs that are at least half alike, and how much."""
    words = pa.array(texts, pa.string())
    held, exact = windows(words, WIDTH), shingles(words, WIDTH)
    some, signed = np.flatnonzero(held.sizes), _WIDE.sign(held)
    each = (np.arange(len(texts)), np.ones(len(texts), np.int64), np.zeros(len(texts), bool), *signed.sketches)
    columns = [signed.bands[:, some].T.ravel(), *(np.repeat(v[some], _WIDE.bands) for v in each)]
    found = list(pairs(pa.table([pa.array(c) for c in columns], schema=BAND), min(LIKENESS)))
    first, second = np.unique(np.concatenate([np.stack([c.to_numpy() for c in t.columns]) for t in found], 1), axis=1)
    return first, second, jaccard(exact.take(first), exact.take(second))


def accuracy(texts: npt.NDArray[np.object_], intents: npt.NDArray[np.object_], kept: Mask) -> float:
    """Share of the texts whose intent a model that learned the other folds' kept ones names."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import ComplementNB
    from sklearn.pipeline import make_pipeline

    fold = hash64(texts, "afterword/folds1") % np.uint64(FOLDS)
    right = np.zeros(len(texts), bool)
    for k in range(FOLDS):
        model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), ComplementNB(alpha=0.3))
        model.fit(texts[(fold != k) & kept], intents[(fold != k) & kept])
        right[fold == k] = model.predict(texts[fold == k]) == intents[fold == k]
    return float(right.mean())


def measure(data: Path) -> dict[str, float]:
    """Figures by likeness."""
    texts, intents = read(data)
    first, second, share = all_pairs(texts)
    figures: dict[str, float] = {
        "texts": len(texts),
        "all.accuracy": accuracy(texts, intents, np.ones(len(texts), bool)),
    }
    draw = np.random.default_rng(0)
    for likeness in LIKENESS:
        near = share >= likeness
        same = near & (intents[first] == intents[second])
        kept = greedy(second[same], first[same], len(texts))
        other = np.ones(len(texts), bool)
        other[draw.permutation(len(texts))[: (~kept).sum()]] = False
        figures |= {
            f"{likeness}.purity": float(same.sum() / max(near.sum(), 1)),
            f"{likeness}.left_out": float((~kept).mean()),
            f"{likeness}.accuracy": accuracy(texts, intents, kept),
            f"{likeness}.random.accuracy": accuracy(texts, intents, other),
        }
    return figures


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with hwu64/")
    parser.add_argument("--out", type=Path, default=Path("out/duplicate_cost.json"))
    arguments = parser.parse_args()
    if not list((arguments.data / "hwu64").glob("*.jsonl.gz")):
        print(f"no HWU64 in {arguments.data}; nothing measured")
        return 0
    figures = {k: round(v, 4) for k, v in measure(arguments.data).items()}
    storage.write_bytes(str(arguments.out), storage.readable_json(figures))
    for key, value in figures.items():
        print(f"{key:<24}{value:>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
