"""Engines that are wrong about what a wrapper may do, and what comes of it (WRAP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.messages import ToolCall
from refengine.tools import ToolCallInput


def _redirecting() -> Sequence[Patch]:
    """Run the tool of the name that the wrappers handed on."""
    tools: dict[str, Given] = {}

    def remember(right: Right) -> Right:
        def prepare_call(
            self: Given, call: ToolCall, bound: Mapping[str, object]
        ) -> Given:
            tools.update(bound)
            return right(self, call, bound)

        return prepare_call

    def look_up(right: Right) -> Right:
        def arrive(ctx: Context, value: ToolCallInput) -> Given:
            scope, tool, at = right(ctx, value)
            return scope, tools.get(value.name, tool), at

        return arrive

    return patch("loop.prepare_call", remember), patch("tool.arrive", look_up)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "calls-redirected",
        "A wrapper that changes the name of its input calls another tool.",
        "WRAP-014",
        PatchedDoor("calls-redirected", _redirecting),
    ),
)
