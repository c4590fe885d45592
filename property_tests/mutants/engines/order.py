"""Engines that are wrong about in which order hooks of several extensions act (ORD)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, Final

from property_tests.mutants.around import under
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.chain import Call, Layer, Onion, Wrap
from refengine.context import Context


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


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "after-structs-first",
        "With both lists structs' after-model hooks are called first.",
        "ORD-003",
        under("after_hooks", "in_order"),
        under="eino-0.9",
    ),
    broken(
        "onions-flat",
        "Every wrapper is given the innermost result and resumed outermost first.",
        "ORD-011 ORD-015",
        patch("onion.compile", _flat),
    ),
)
