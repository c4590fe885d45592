"""Engines that are wrong about which tools a run is planned with (TOOL)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, patch
from refengine.tools import ToolMeta


def planned(change: Callable[[Given, Given], Given]) -> Patch:
    """Change what the before_agent phase leaves, given the planner and that."""

    def replaced(right: Right) -> Right:
        async def plan(self: Given, *given: Given) -> Given:
            return change(self, await right(self, *given))

        return plan

    return patch("planner.plan", replaced)


def names(metas: Iterable[ToolMeta]) -> set[str]:
    """Return the names of tools."""
    return {meta.name for meta in metas}


MUTANTS: Final[tuple[Mutant, ...]] = ()
