"""Engines that are wrong about in which order hooks of several extensions act (ORD)."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any, Final

from property_tests.mutants.around import built, under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.lists import Found
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.chain import Call, Layer, Onion, Pipeline, Wrap
from refengine.context import Context
from refengine.errors import MixedExtensionsWarning
from refengine.events import Notice
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.testing.doors import EngineAgent


def _handlers_first(right: Right) -> Right:
    """Call handlers' before-model hooks before those of structs."""

    def compile_agent(*given: Given) -> Given:
        machine = right(*given)
        return replace(machine, before=machine.before[::-1])

    return compile_agent


async def _warned_often(
    config: ChatModelAgentConfig, profile: Profile, on_notice: OnNotice
) -> EngineAgent:
    """Warn once more for each handler but one, besides the engine's own warning."""
    for _ in config.handlers[1:] if config.middlewares else ():
        warnings.warn(MixedExtensionsWarning("both lists"), stacklevel=4)
        on_notice(Notice("warning", {"category": "MixedExtensionsWarning"}))
    return await build_agent(config, profile, on_notice=on_notice)


def _handlers_outside(found: Found) -> Found:
    return [*lists.wrappers(found), *lists.factories(found)]


def _structs_outside(found: Found) -> Found:
    """Put the layers of structs outside those of the tools configuration."""
    hooks = ["wrap_tool_call", "tool_call_middlewares"]
    given = sorted(lists.factories(found), key=lambda each: hooks.index(each.name.hook))
    return [*given, *lists.wrappers(found)]


def _last_handler_outside(found: Found) -> Found:
    return [*lists.factories(found), *lists.wrappers(found)[::-1]]


def _structs_backwards(found: Found) -> Found:
    structs = [each for each in found if each.name.hook == "wrap_tool_call"]
    left = structs[::-1]
    return [left.pop(0) if each in structs else each for each in found]


def _ended_early(right: Right) -> Right:
    """Call after_agent hooks once an answer calls no tool, before the after-hooks."""

    async def after_model(self: Given, ctx: Context) -> Context:
        machine, last = self.machine, self.history.last()
        if last is not None and not last.tool_calls:
            await machine.after_agent.observe(ctx, self.history)
            self.machine = replace(machine, after_agent=Pipeline(()))
        left: Context = await right(self, ctx)
        return left

    return after_model


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
    broken(
        "pipelines-reversed",
        "Every pipeline calls the last hook first.",
        "ORD-001 ORD-003 ORD-007",
        lists.hooks(lists.turned, *lists.PASSES),
    ),
    broken(
        "before-handlers-first",
        "Handlers' before-model hooks are called before those of structs.",
        "ORD-001",
        patch("agent.compile", _handlers_first),
    ),
    broken(
        "before-structs-reversed",
        "The last struct's before_chat_model is called first.",
        "ORD-001",
        lists.callbacks(lists.turned, "before_chat_model"),
    ),
    wrong(
        "after-structs-first",
        "With both lists structs' after-model hooks are called first.",
        "ORD-003",
        under("after_hooks", "in_order"),
        under="eino-0.9",
    ),
    broken(
        "last-after-hook-missing",
        "Of several after-model hooks of handlers the last one is never called.",
        "ORD-004",
        lists.hooks(lists.but_last, "after_model_rewrite_history"),
    ),
    broken(
        "before-agent-reversed",
        "The last handler's before_agent is called first.",
        "ORD-005",
        lists.hooks(lists.turned, "before_agent"),
    ),
    broken(
        "model-wrappers-reversed",
        "Around a model call the last handler is the outermost.",
        "ORD-009",
        lists.hooks(lists.turned, "wrap_model_call"),
    ),
    broken(
        "onions-flat",
        "Every wrapper is given the innermost result and resumed outermost first.",
        "ORD-011 ORD-015",
        patch("onion.compile", _flat),
    ),
    broken(
        "tool-handlers-outside",
        "Handlers' wrappers are outside of those of structs and tools configuration.",
        "ORD-012",
        lists.layers(_handlers_outside),
    ),
    broken(
        "tool-structs-outside",
        "Structs' wrappers are outside of those of the tools configuration.",
        "ORD-012",
        lists.layers(_structs_outside),
    ),
    broken(
        "tool-last-handler-outside",
        "The last handler's wrapper is the outermost, as in eino up to v0.8.11.",
        "ORD-013",
        lists.layers(_last_handler_outside),
    ),
    broken(
        "tool-structs-backwards",
        "Of the structs' wrappers the last one is the outermost.",
        "ORD-013",
        lists.layers(_structs_backwards),
    ),
    broken(
        "after-agent-before-after-hooks",
        "The after_agent hooks are called before the last after-model hooks.",
        "ORD-017",
        patch("loop.after_model", _ended_early),
    ),
    wrong(
        "mixed-lists-each-handler",
        "The warning about both lists is given for every handler.",
        "ORD-019",
        built(_warned_often),
    ),
    broken(
        "last-before-hook-missing",
        "Of several before-model hooks of handlers the last one is never called.",
        "ORD-002",
        lists.hooks(lists.but_last, "before_model_rewrite_history"),
    ),
    broken(
        "before-agent-last-missing",
        "Of several before_agent hooks the last one is never called.",
        "ORD-006",
        lists.hooks(lists.but_last, "before_agent"),
    ),
)
