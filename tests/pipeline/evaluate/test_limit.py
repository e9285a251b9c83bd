"""The head of an evaluation tells of domains whose threshold is another than the pooled one, and of no others."""

from __future__ import annotations

from pipeline.evaluate.render import _limit


def test_domains_at_the_pooled_threshold_are_not_told_of():
    held = {"value": 0.5, "domains": {"music": {"value": 0.5}, "light": {"value": 0.5}}}
    assert _limit(held) == ">= 0.50"
    held["domains"]["light"]["value"] = 0.7
    assert _limit(held) == ">= 0.50 (1 of 2 domains at another)"
