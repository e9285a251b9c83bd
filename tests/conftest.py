"""Property tests say whether code is right, not how busy the machine is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("afterword", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("afterword")
