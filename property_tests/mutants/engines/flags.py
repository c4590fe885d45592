"""Engines that go by the wrong calls: direct ones, rewritten ones, hidden ones (RD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.chain import SCOPE
from refengine.context import Context
from refengine.messages import ToolCall
from refengine.tools import ToolCallInput

FOR_ONE_CALL: Final = "What a wrapper takes out of a request is hidden in that call."


def _raw_answer() -> Sequence[Patch]:
    """Answer with what the direct tool gave, before any wrapper changed it."""
    raw: list[tuple[Given, str]] = []

    def invoking(right: Right) -> Right:
        async def invoke(ctx: Context, value: ToolCallInput) -> Given:
            result = await right(ctx, value)
            raw.append((SCOPE.get(), result.result))
            return result

        return invoke

    def settling(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            direct = self.direct_call(batch.calls)
            ended = right(self, batch)
            for scope, text in raw:
                if direct is not None and getattr(direct, "scope", None) is scope:
                    self.answer = replace(self.answer, content=text)
            return ended

        return settle

    return patch("tool.invoke", invoking), patch("loop.settle", settling)


def _hidden_for_ever(right: Right) -> Right:
    """Show in later iterations what the model was shown in the one before."""

    def next_iteration(self: Given) -> Given:
        call = self.model_call
        if call is not None:
            names = {info.name for info in call.shown}
            shown = tuple(info for info in self.plan.shown if info.name in names)
            self.plan = replace(self.plan, shown=shown)
        return right(self)

    return next_iteration


def _run_where_streamed(right: Right) -> Right:
    def prepare_call(self: Given, call: ToolCall, bound: Given) -> Given:
        asked = self.model_call
        if self.streaming:
            self.model_call = None
        try:
            return right(self, call, bound)
        finally:
            self.model_call = asked

    return prepare_call


def _one_call_late() -> Sequence[Patch]:
    """Go by what was taken out of the request before the last one."""
    calls: dict[Given, list[Given]] = {}

    def replaced(right: Right) -> Right:
        def batch_of(self: Given, *given: Given) -> Given:
            own = calls.setdefault(self, [None])
            asked = self.model_call
            own.append(asked)
            self.model_call = own[-2]
            try:
                return right(self, *given)
            finally:
                self.model_call = asked

        return batch_of

    return (patch("loop.batch_of", replaced),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "raw-direct-answer",
        "The answer of a direct call is what the tool gave, before its wrappers.",
        "RD-010",
        PatchedDoor("raw-direct-answer", _raw_answer),
    ),
    broken(
        "hidden-for-ever",
        "A tool that a wrapper took out of one request is in none after it.",
        "TOOL-010",
        patch("loop.next_iteration", _hidden_for_ever),
        says=FOR_ONE_CALL,
    ),
    broken(
        "hidden-tools-run-where-streamed",
        "In a streaming run a tool that was taken out of the request runs.",
        "TOOL-018",
        patch("loop.prepare_call", _run_where_streamed),
    ),
    wrong(
        "hidden-one-call-late",
        "What was taken out of a request is unknown in the iteration after it.",
        "TOOL-018",
        PatchedDoor("hidden-one-call-late", _one_call_late),
        says=FOR_ONE_CALL,
    ),
)
