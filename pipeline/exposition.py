"""Prometheus' text form (exposition format 0.0.4): families of samples with HELP and TYPE, labels escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class Family:
    """A metric, and its samples by label.

    Attributes
    ----------
    name : str
        As Prometheus names metrics: base unit last.
    help : str
    samples : list of (labels, value)
    """

    name: str
    help: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)

    def add(self, value: float, **labels: str) -> None:
        """Add a sample."""
        self.samples.append((labels, value))


def render(families: Iterable[Family]) -> str:
    """Text of the families that have a sample. All are gauges: each tells of the last run, not of all of them."""
    lines = []
    for family in families:
        if family.samples:
            lines += [f"# HELP {family.name} {_help(family.help)}", f"# TYPE {family.name} gauge"]
            lines += [f"{family.name}{_labels(labels)} {_number(value)}" for labels, value in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _labels(labels: Mapping[str, str]) -> str:
    told = ",".join(f'{name}="{_value(value)}"' for name, value in labels.items())
    return f"{{{told}}}" if told else ""


def _value(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
