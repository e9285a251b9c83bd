"""A verifiers taskset over the `rl` view of an Afterword release: say what the user means, as JSON.

    vf-eval nlu-repair --env.taskset.path <release> --env.agent.harness.id null --env.agent.runtime.type subprocess ...

`nlu_repair.reward` needs no verifiers: it is the reward function for verl and TRL as well.
"""

from nlu_repair.taskset import NluRepairTaskset

__all__ = ["NluRepairTaskset"]
