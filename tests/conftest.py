"""Tests say whether code is right, not how busy the machine is."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# As the command does (`pipeline.cli`), before anything loads OpenMP: threads that wait sleep.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Examples of a property; more find more, and take longer.
EXAMPLES = int(os.environ.get("EXAMPLES", "40"))
settings.register_profile(
    "afterword", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("afterword")


def pytest_collection_finish() -> None:
    """What is imported stays, so garbage is not looked for in it again and again."""
    gc.collect()
    gc.freeze()
