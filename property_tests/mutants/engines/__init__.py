"""Mutants of the engine and its chain, one module a family of clauses."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines import (
    adapted,
    asking,
    called_tools,
    cancelling,
    concurrency,
    context,
    depth,
    direct,
    errors,
    events,
    extensions,
    instruction,
    messages,
    one_call,
    order,
    rarely,
    resuming,
    retrying,
    runs,
    streaming,
    timing,
    told,
    tools,
    wrapping,
)
from property_tests.mutants.mutant import Mutant

ENGINES: Final[tuple[Mutant, ...]] = tuple(
    mutant
    for module in (
        order,
        instruction,
        tools,
        told,
        called_tools,
        direct,
        messages,
        wrapping,
        one_call,
        events,
        runs,
        streaming,
        timing,
        errors,
        context,
        concurrency,
        depth,
        extensions,
        adapted,
        rarely,
        resuming,
        asking,
        cancelling,
        retrying,
    )
    for mutant in module.MUTANTS
)
