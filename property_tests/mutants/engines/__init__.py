"""Mutants of the engine and its chain, one module a family of clauses."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines import (
    adapted,
    asking_again,
    asking_people,
    called_tools,
    chunks,
    concurrency,
    context,
    editing,
    errors,
    events,
    extensions,
    flags,
    instruction,
    kept_steps,
    leaving,
    limits,
    many_calls,
    messages,
    names,
    order,
    other_profiles,
    parameters,
    rarely,
    resuming,
    retrying,
    runs,
    seldom,
    streaming,
    thereafter,
    values,
    wrapping,
)
from property_tests.mutants.mutant import Mutant

ENGINES: Final[tuple[Mutant, ...]] = tuple(
    mutant
    for module in (
        order,
        instruction,
        called_tools,
        messages,
        wrapping,
        events,
        runs,
        streaming,
        errors,
        context,
        concurrency,
        extensions,
        adapted,
        rarely,
        resuming,
        retrying,
        asking_again,
        thereafter,
        asking_people,
        chunks,
        flags,
        kept_steps,
        leaving,
        limits,
        many_calls,
        other_profiles,
        parameters,
        seldom,
        names,
        values,
        editing,
    )
    for mutant in module.MUTANTS
)
