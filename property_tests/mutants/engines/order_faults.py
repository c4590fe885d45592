"""Faults of order that need more than a turned list: flat onions, early tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from refengine.chain import Call, Layer, Onion, Pipeline, Wrap
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.loop import Loop

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type


def flat(right: Callable[..., Call]) -> Callable[..., Call]:
    """Give every wrapper the innermost result, which none of them can change.

    Each is resumed as soon as it is there, the outermost first.
    """

    def compiled(
        self: Onion, layers: Sequence[Layer], innermost: Call, first: int = 0
    ) -> Call:
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

    async def at(self, place: int, ctx: Context, value: Given) -> Given:
        if place == len(self._wraps):
            result = await self._innermost(ctx, value)
            if not self._answer.done():
                self._answer.set_result(result)
            return result

        def inner(ctx: Context, value: Given) -> Awaitable[Any]:
            task = asyncio.ensure_future(self.at(place + 1, ctx, value))
            task.add_done_callback(self._settle)
            self.inner.append(task)
            return self._answer

        return await self._wraps[place](ctx, value, inner)

    def _settle(self, task: asyncio.Future[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if self._answer.done() or task.cancelled():
            return
        if error is None:
            self._answer.set_result(task.result())
        else:
            self._answer.set_exception(error)
            self._answer.exception()  # nobody may wait for it any more


class _Early:
    """A batch that has run already; its events are told when they are asked for."""

    def __init__(self, batch: Given, events: list[AgentEvent]) -> None:
        self.batch = batch
        self._events = events

    async def next_event(self) -> AgentEvent | None:
        return self._events.pop(0) if self._events else None

    def __getattr__(self, name: str) -> Given:
        return getattr(self.batch, name)


_Batches: TypeAlias = "dict[int, _Early]"


def tools_first(
    batches: _Batches,
) -> tuple[Callable[[Right], Right], Callable[[Right], Right]]:
    """Return what takes the place of ``_phases`` and ``_batch_of`` of a Loop.

    The calls of an answer run before the after-hooks see it.
    """

    def phases(right: Right) -> Right:
        async def changed(self: Loop, phases: Given, ctx: Context) -> Context:
            last = self.history.last()
            if phases is self.machine.after and last is not None and last.tool_calls:
                batch = self.batch_of(last.tool_calls, self._tools_context(ctx))
                events: list[AgentEvent] = []
                while (event := await batch.next_event()) is not None:
                    events.append(event)
                batches[id(self)] = _Early(batch, events)
            left: Context = await right(self, phases, ctx)
            return left

        return changed

    def batch_of(right: Right) -> Right:
        def changed(self: Loop, calls: Given, ctx: Context) -> Given:
            return batches.pop(id(self), None) or right(self, calls, ctx)

        return changed

    return phases, batch_of


def ended_early(right: Right) -> Right:
    """Call after_agent hooks once an answer calls no tool, before the after-hooks."""

    async def changed(self: Loop, phases: Given, ctx: Context) -> Context:
        machine, last = self.machine, self.history.last()
        if phases is machine.after and last is not None and not last.tool_calls:
            await machine.after_agent.observe(ctx, self.history)
            self.machine = replace(machine, after_agent=Pipeline(()))
        left: Context = await right(self, phases, ctx)
        return left

    return changed


def ended_anyhow(right: Right) -> Right:
    """Call after_agent hooks of a run that did not succeed, too."""

    async def changed(self: Loop) -> None:
        if self.status not in {"completed", "returned_directly"}:
            await self.machine.after_agent.observe(self.ctx, self.history)
        await right(self)

    return changed
