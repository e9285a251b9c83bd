"""One small log for all tests, and what it was made with."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from small_log import SMALL

from simulator.simulate import prepared, write_log
from simulator.world import World


@pytest.fixture(scope="session")
def world() -> World:
    """Phrase book and NLU of `made`."""
    pytest.importorskip("hassil")
    pytest.importorskip("home_assistant_intents")
    return prepared(SMALL)


@pytest.fixture(scope="session")
def made(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs/ and truth/. Only to be read."""
    out = tmp_path_factory.mktemp("made")
    write_log(out, world)
    return out


@pytest.fixture(scope="session")
def log(made: Path) -> pa.Table:
    """Turns of `made`, files in order."""
    return ds.dataset(made / "logs").to_table()


@pytest.fixture(scope="session")
def truth(made: Path) -> pa.Table:
    """Their truth, in the same order."""
    return ds.dataset(made / "truth").to_table()
