"""`afterword audit`: turns for people to judge, and what they say."""

from __future__ import annotations

import argparse
from typing import Any

from models.sampling import AuditOptions
from pipeline.audit.drawing import FORMS, draw_audit
from pipeline.audit.reading import read_audit
from pipeline.audit.render import drawn_text, figures_text
from pipeline.commands.opening import folder
from pipeline.commands.showing import show
from pipeline.errors import ConfigError


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Draw turns, or read answers; print what came of it."""
    options = AuditOptions(n=arguments.n, seed=arguments.seed)
    if arguments.n < options.smallest:
        raise ConfigError(
            f"audit: --n {arguments.n}: at least {options.smallest} is wanted, or some turns have no chance"
        )
    if arguments.read and (arguments.to or arguments.form):
        raise ConfigError("audit: --read draws nothing, so --to and --form have no place beside it")
    if arguments.read:
        figures = read_audit(folder(arguments.out), arguments.read)
        show(arguments, figures, lambda: figures_text(figures))
    else:
        drawn = _drawn(arguments, options)
        show(arguments, drawn, lambda: drawn_text(drawn))
    return 0


def _drawn(arguments: argparse.Namespace, options: AuditOptions) -> dict[str, Any]:
    named = arguments.form or ["all"]
    forms = tuple(name for name in FORMS if name in named or "all" in named)
    return draw_audit(folder(arguments.out), options, arguments.to, forms)
