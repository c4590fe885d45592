"""Engines that go by the wrong calls: direct ones, rewritten ones, hidden ones (RD)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from refengine.chain import SCOPE
from refengine.context import Context
from refengine.tools import ToolCallInput, ToolMeta, as_meta


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


def _flags_outlive() -> Sequence[Patch]:
    gone: dict[str, bool | None] = {}

    def planning(right: Right) -> Right:
        async def plan(self: Given, *given: Given) -> Given:
            gone.clear()
            return await right(self, *given)

        return plan

    def folding(right: Right) -> Right:
        def update(self: Given, left: Sequence[Given]) -> Given:
            before = {each.name: each.return_directly for each in self.metas}
            metas, names = right(self, [_with_flag(each, gone) for each in left])
            gone.update({name: before[name] for name in names})
            return metas, names

        return update

    return patch("planner.plan", planning), patch("planner.fold", folding)


def _with_flag(tool: Given, flags: Mapping[str, bool | None]) -> ToolMeta:
    meta = as_meta(tool)
    if meta.return_directly is None and meta.name in flags:
        return replace(meta, return_directly=flags[meta.name])
    return meta


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "raw-direct-answer",
        "The answer of a direct call is what the tool gave, before its wrappers.",
        "RD-010",
        PatchedDoor("raw-direct-answer", _raw_answer),
    ),
    wrong(
        "flag-outlives-its-tool",
        "A tool that is added again has the flag with which it was removed.",
        "RD-007",
        PatchedDoor("flag-outlives-its-tool", _flags_outlive),
    ),
)
