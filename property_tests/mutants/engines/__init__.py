"""Mutants of the engine and its chain, one module a family of clauses."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines import (
    adapted,
    asking,
    asking_again,
    asking_people,
    called_tools,
    cancelling,
    chunks,
    concurrency,
    context,
    depth,
    direct,
    errors,
    events,
    extensions,
<<<<<<< HEAD
    flags,
    going_on,
=======
    failed_runs,
>>>>>>> fb8b59f (Ask that a failed run hands back its history before what failed)
    instruction,
    leaving,
    limits,
    many_calls,
    messages,
    one_call,
    order,
    other_profiles,
    parameters,
    rarely,
    resuming,
    retrying,
    runs,
    seldom,
    streaming,
    texts,
    timing,
    told,
    tools,
    values,
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
        failed_runs,
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
        asking_again,
        asking_people,
        chunks,
        flags,
        going_on,
        leaving,
        limits,
        many_calls,
        other_profiles,
        parameters,
        seldom,
        texts,
        values,
    )
    for mutant in module.MUTANTS
)
