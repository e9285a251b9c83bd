"""The whole way once, with nothing at hand: made-up traffic, the main job, one correction explained.

    make demo                         in its own environment
    python examples/demo.py out/demo

Each step is a command that works the same on a log of your own; it is printed before it runs.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

# Enough users for corrections that several of them support, and a minute of work.
TURNS: Final = 60_000


def step(title: str, *arguments: str) -> None:
    """Say what is done, and do it."""
    print(f"\n== {title}\n$ afterword {shlex.join(arguments)}\n", flush=True)
    done = subprocess.run([sys.executable, "-m", "pipeline.cli", *arguments], check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def best_correction(release: Path) -> str | None:
    """Id of the correction that most users support; None where the release has none."""
    rows = []
    for path in sorted(release.glob("lineage/data/*.parquet")):
        table = pq.read_table(path, columns=["kind", "support", "confidence", "example_id"])
        rows += [r for r in table.to_pylist() if r["kind"] == "correction"]
    best = max(rows, key=lambda r: (r["support"], r["confidence"], r["example_id"]), default=None)
    return best["example_id"] if best else None


def main() -> int:
    """Simulate, run, explain."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo")
    made, out = folder / "made", folder / "out"
    for earlier in (made, out):
        # A try that was broken off must not stand in the way of the next.
        if earlier.exists():
            print(f"removing {earlier} of an earlier demo")
            shutil.rmtree(earlier)
    step(
        "1. A week of made-up traffic: real sentences, a weak NLU, users who react to what it does",
        *("simulate", "--out", str(made), "--turns", str(TURNS)),
    )
    step(
        "2. The main job: what went wrong, what was meant, and the training data that follows from it",
        *("run", "--input", str(made / "logs"), "--format", "canonical", "--out", str(out)),
    )
    release = out / "releases" / (out / "CURRENT").read_text(encoding="utf-8").strip()
    example = best_correction(release)
    if example:
        step("3. Why is this in the training data?", "explain", example[:8], "--out", str(out))
    print(
        f"""
== What there is now
{release}
    nlu/  sft/  rl/ …   training data, one view for each kind of trainer (Parquet)
    review/             what was done and found wrong, for people to say what is right
    lineage/            every example with its turns and models
    README.md           the card: what is in it, how sure, known limits
    manifest.json       every file with its hash; `afterword verify {out}` proves it

== Next
Your own log:  .venv/bin/afterword run --input logs/ --format canonical --out out/mine
               one JSON object a turn; docs/cli.md#formats says which fields
""",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
