"""``refengine conform --store``: what of its options means anything for stores."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from compat.cli.command import refuse

ENGINES_ONLY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "engines": "engines and stores are judged by other clauses: judge one by one",
        "profile": "a store has no profile",
        "worlds": "the worlds of a store are calls, and no sessions",
        "known": "known failures are pinned to scenarios of engines",
        "shown": "a failure of a store is told with all its calls",
        "failures": "a store's failure is played again by the command beside it",
    }
)
"""What means nothing for a store, and why."""


def check_arguments(*, engines: bool, stores: bool) -> None:
    """Leave with a message unless the line names engines or, fittingly, stores."""
    context = click.get_current_context()
    if not engines and not stores:
        raise click.MissingParameter(ctx=context, param=context.command.params[0])
    if not stores:
        return
    for each in context.command.params:
        name = str(each.name)
        if name in ENGINES_ONLY and context.params.get(name):
            shown = each.opts[0] if name != "engines" else "an engine"
            refuse("conform", f"{shown} with --store: {ENGINES_ONLY[name]}")
