"""`python -m bench.loop`: the loop alone, as `bench.quality` has it."""

from __future__ import annotations

import sys

from bench import loop, quality

if __name__ == "__main__":
    sys.exit(quality.main({"loop": loop.figures}))
