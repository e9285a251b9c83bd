"""Beam's Spark job server on embedded Spark and on a standalone cluster, and the local runner's release beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import spark_cluster
from tests.spark.command import CALLS, run


@pytest.fixture(scope="session")
def jars() -> None:
    if not spark_cluster.JARS.is_dir():
        pytest.skip(".spark/jars is absent: run make spark")


@pytest.fixture(scope="session")
def embedded(jars: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[spark_cluster.Spark]:
    """Embedded Spark; its workers are threads of the submitting process."""
    with spark_cluster.local(tmp_path_factory.mktemp("spark")) as spark:
        yield spark


@pytest.fixture(scope="session")
def cluster(jars: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[spark_cluster.Spark]:
    """A master and two workers of one core; SDK workers are processes."""
    with spark_cluster.standalone(tmp_path_factory.mktemp("cluster")) as spark:
        yield spark


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output of the main job on the real calls, on the local runner in memory. Not to be changed."""
    if not CALLS.is_dir():
        pytest.skip(f"{CALLS} is absent")
    out = tmp_path_factory.mktemp("local") / "out"
    code, said = run("--input", CALLS, "--format", "dstc", "--out", out)
    assert code == 0, said
    return out
