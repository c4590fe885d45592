"""Engines that tell the model less of a tool than the tool says (TOOL)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch
from refengine.tools import ToolInfo


def _telling(change: Given) -> Given:
    """Change what each request tells of its tools."""

    def replaced(right: Right) -> Right:
        def next_iteration(self: Given) -> Given:
            goes_on = right(self)
            shown = tuple(change(info, self.iterations) for info in self.plan.shown)
            self.plan = replace(self.plan, shown=shown)
            return goes_on

        return next_iteration

    return patch("loop.next_iteration", replaced)


def _without_parameters(info: ToolInfo, _: int) -> ToolInfo:
    return ToolInfo(info.name, info.description)


def _later_without(info: ToolInfo, iteration: int) -> ToolInfo:
    return info if iteration == 1 else ToolInfo(info.name, info.description)


def _stripped(info: ToolInfo, _: int) -> ToolInfo:
    return ToolInfo(info.name, info.description.strip(), info.parameters)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "tools-without-parameters",
        "The model is told of no parameters of its tools.",
        "TOOL-025",
        _telling(_without_parameters),
    ),
    broken(
        "parameters-in-the-first-request",
        "The model is told of parameters in the first request of a run only.",
        "TOOL-025",
        _telling(_later_without),
    ),
    broken(
        "descriptions-without-space",
        "Descriptions of tools lose the white space around them.",
        "TOOL-025",
        _telling(_stripped),
    ),
)
