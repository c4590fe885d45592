"""Mutants of the engine and its chain, one module a family of clauses."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines import (
    adapted,
    concurrency,
    context,
    depth,
    direct,
    errors,
    events,
    extensions,
    instruction,
    messages,
    order,
    rarely,
    runs,
    state,
    state_cancel,
    state_retry,
    streaming,
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
        direct,
        messages,
        wrapping,
        events,
        runs,
        streaming,
        errors,
        context,
        concurrency,
        depth,
        extensions,
        adapted,
        rarely,
        state,
        state_cancel,
        state_retry,
    )
    for mutant in module.MUTANTS
)
