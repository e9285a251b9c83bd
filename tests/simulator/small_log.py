"""Options of the small log that the tests share: many blocks, few wishes."""

from simulator.options import SimulateOptions

SMALL = SimulateOptions(turns=6_000, users=150, days=2, wishes=250, block_turns=1_000, form="parquet")
