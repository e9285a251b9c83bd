"""Options of the ontology."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OntologyOptions:
    """Which labels there are.

    Attributes
    ----------
    file : str or None
        TOML or JSON file of the allowed domains, intents and slots, and of those renamed, split and retired; see
        docs/inputs.md. None = every label of the log is right. Of a release's id its content is a part.
    """

    file: str | None = None
