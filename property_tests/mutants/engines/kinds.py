"""Engines that have a class of their own in the place of one of the engine's.

A text within one function cannot say a class.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch
from refengine.chain import Call, Layer, Onion, Wrap
from refengine.context import Context, at_point
from refengine.tools import ToolMeta


def _flat(right: Right) -> Right:
    """Give every wrapper the innermost result, which none of them can change.

    Each is resumed as soon as it is there, the outermost first.
    """

    def compiled(
        self: Onion, layers: Sequence[Layer], innermost: Call, first: int = 0
    ) -> Given:
        if not layers or any(layer.wrap is None for layer in layers):
            return right(self, layers, innermost, first)
        return _Flat(layers, innermost)

    return compiled


class _Flat:
    def __init__(self, layers: Sequence[Layer], innermost: Call) -> None:
        self._wraps = [layer.wrap for layer in layers if layer.wrap is not None]
        self._innermost = innermost

    async def __call__(self, ctx: Context, value: Given) -> Given:
        one = _FlatCall(self._wraps, self._innermost)
        outcome = await one.at(0, ctx, value)
        await asyncio.gather(*one.inner, return_exceptions=True)
        return outcome


class _FlatCall:
    """One call: every layer but the outermost is a task, and all share one answer."""

    def __init__(self, wraps: Sequence[Wrap], innermost: Call) -> None:
        self.inner: list[asyncio.Future[Any]] = []
        self._wraps = wraps
        self._innermost = innermost
        self._answer = asyncio.get_running_loop().create_future()

    async def at(self, layer: int, ctx: Context, value: Given) -> Given:
        if layer == len(self._wraps):
            result = await self._innermost(ctx, value)
            if not self._answer.done():
                self._answer.set_result(result)
            return result

        def inner(ctx: Context, value: Given) -> Awaitable[Any]:
            task = asyncio.ensure_future(self.at(layer + 1, ctx, value))
            task.add_done_callback(self._settle)
            self.inner.append(task)
            return self._answer

        return await self._wraps[layer](ctx, value, inner)

    def _settle(self, task: asyncio.Future[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if self._answer.done() or task.cancelled():
            return
        if error is None:
            self._answer.set_result(task.result())
        else:
            self._answer.set_exception(error)
            self._answer.exception()  # nobody may wait for it any more


class _Joined:
    """An invokable tool made of a streamable one, by joining what it streams."""

    def __init__(self, tool: Given) -> None:
        self.info = tool.info
        self._stream = tool.stream

    async def invoke(self, *given: object) -> str:
        return "".join([chunk async for chunk in await self._stream(*given)])


def _joined_early(right: Right) -> Right:
    async def plan(self: Given, *given: Given) -> Given:
        left = await right(self, *given)
        return replace(
            left,
            runnable=tuple(map(_joined, left.runnable)),
            registered=tuple(map(_joined, left.registered)),
        )

    return plan


def _joined(meta: ToolMeta) -> ToolMeta:
    only_streams = getattr(meta.tool, "invoke", None) is None
    return replace(meta, tool=_Joined(meta.tool)) if only_streams else meta


class _TrueLocals(dict[str, object]):
    """Run-local values, none of which is false, 0, empty or null."""

    def __setitem__(self, key: str, value: object) -> None:
        if value:
            super().__setitem__(key, value)


def _locals_as(kind: Callable[[], dict[str, object]]) -> Patch:
    """Let a run that is not kept hold its run-local values otherwise."""

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            if self.machine.types is None:
                self.locals = kind()
                self.ctx = at_point(self.ctx, self.run_path, None, self.locals)
            return right(self)

        return start

    return patch("loop.start", replaced)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "onions-flat",
        "Every wrapper is given the innermost result and resumed outermost first.",
        "ORD-011 ORD-015",
        patch("onion.compile", _flat),
    ),
    broken(
        "streams-joined-early",
        "A streamable tool is made an invokable one, which other wrappers wrap.",
        "STR-002",
        patch("planner.plan", _joined_early),
    ),
    broken(
        "true-run-locals",
        "A run-local value that is false, 0, empty or null is not set.",
        "CTX-013",
        _locals_as(_TrueLocals),
    ),
)
