"""The checks, one module a family. A new one stands in its module's ``CHECKS``."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check
from property_tests.checks import (
    adapted,
    asking,
    borders,
    callers,
    cancelling,
    concurrency,
    context,
    depth,
    direct,
    equal_ids,
    errors,
    events,
    extensions,
    going_on,
    handed_back,
    instruction,
    interrupts,
    messages,
    one_call,
    order,
    pacing,
    resuming,
    retrying,
    runs,
    streaming,
    timing,
    told,
    tools,
    wrapping,
)

CHECKS: Final[tuple[Check, ...]] = tuple(
    check
    for module in (
        order,
        instruction,
        tools,
        told,
        direct,
        messages,
        callers,
        wrapping,
        one_call,
        events,
        pacing,
        runs,
        streaming,
        timing,
        errors,
        handed_back,
        context,
        concurrency,
        equal_ids,
        depth,
        extensions,
        adapted,
        interrupts,
        asking,
        resuming,
        going_on,
        borders,
        cancelling,
        retrying,
    )
    for check in module.CHECKS
)
"""Every check, family by family."""
