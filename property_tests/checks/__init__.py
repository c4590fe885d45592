"""The checks: of clauses that say what they compare, and in code, a module a family.

A new one in code stands in its module's ``CHECKS``.
"""

from __future__ import annotations

from typing import Final

from property_tests.check import Check
from property_tests.checks import (
    adapted,
    borders,
    cancelling,
    concurrency,
    ends,
    extensions,
    handed_back,
    modes,
    resuming,
    timing,
)
from property_tests.oracle import compared_checks
from property_tests.registry import place_of

_IN_CODE: Final = tuple(
    check
    for module in (
        modes,
        timing,
        handed_back,
        concurrency,
        ends,
        extensions,
        adapted,
        resuming,
        borders,
        cancelling,
    )
    for check in module.CHECKS
)
CHECKS: Final[tuple[Check, ...]] = tuple(
    sorted((*compared_checks(), *_IN_CODE), key=lambda each: place_of(each.clause))
)
"""Every check, family by family."""
