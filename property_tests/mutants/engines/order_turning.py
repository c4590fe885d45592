"""Patches that turn, cut or double the lists in which an engine holds its hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from property_tests.mutants.patching import Patch
from refengine import agent as agent_module
from refengine.agent import Agent
from refengine.chain import Pipeline
from refengine.errors import MixedExtensionsWarning
from refengine.events import Notice
from refengine.extensions import Extensions

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type
Found: TypeAlias = "list[Any]"  # hooks or layers, with whose they are
Change: TypeAlias = Callable[[Found], Found]


def backwards(right: Callable[..., None]) -> Callable[..., None]:
    """Make a pipeline of the hooks backwards."""

    def made(self: Pipeline, hooks: Sequence[Any]) -> None:
        right(self, hooks[::-1])

    return made


def phases(field: str, change: Change) -> Patch:
    """Change the phases of the pass that struct middlewares take part in so."""

    def replaced(right: Right) -> Right:
        def phases(extensions: Given, profile: Given, name: str, hook: str) -> Found:
            found: Found = right(extensions, profile, name, hook)
            return change(found) if name == field else found

        return phases

    return Patch(agent_module, "_phases", replaced)


def hooks(name: str, change: Change) -> Patch:
    """Change the handlers' hooks of that name."""

    def replaced(right: Right) -> Right:
        def with_hook(self: Extensions, hook: str) -> Found:
            found: Found = right(self, hook)
            return change(found) if hook == name else found

        return with_hook

    return Patch(Extensions, "with_hook", replaced)


def structs(name: str, change: Change) -> Patch:
    """Change the structs' callbacks in that field."""

    def replaced(right: Right) -> Right:
        def model_hooks(self: Extensions, field: str) -> Found:
            found: Found = right(self, field)
            return change(found) if field == name else found

        return model_hooks

    return Patch(Extensions, "model_hooks", replaced)


def layers(change: Change) -> Patch:
    """Change the layers around tool calls."""

    def replaced(right: Right) -> Right:
        def tool_layers(self: Extensions, kind: Given, config: Given) -> Found:
            return change(right(self, kind, config))

        return tool_layers

    return Patch(Extensions, "tool_layers", replaced)


def turned(found: Found) -> Found:
    """Turn the list round."""
    return found[::-1]


def but_last(found: Found) -> Found:
    """Leave out the last one, unless it is alone."""
    return found[: max(len(found) - 1, 1)]


def last_twice(found: Found) -> Found:
    """Put the last one in twice."""
    return [*found, *found[-1:]]


def handlers_outside(found: Found) -> Found:
    """Put the layers of handlers outermost."""
    return sorted(found, key=lambda layer: layer.factory is not None)


def structs_outside(found: Found) -> Found:
    """Put the layers of structs outside those of the tools configuration."""
    hooks = ["wrap_tool_call", "tool_call_middlewares"]
    given = [each for each in found if each.factory is not None]
    given.sort(key=lambda layer: hooks.index(layer.name.hook))
    return [*given, *(each for each in found if each.factory is None)]


def last_handler_outside(found: Found) -> Found:
    """Turn the layers of handlers round."""
    given = [each for each in found if each.factory is not None]
    return [*given, *(each for each in found[::-1] if each.factory is None)]


def structs_backwards(found: Found) -> Found:
    """Turn the layers of structs round."""
    structs = [each for each in found if each.name.hook == "wrap_tool_call"]
    left = structs[::-1]
    return [left.pop(0) if each in structs else each for each in found]


def planned_anew(_: Right) -> Right:
    """Run before_agent again at the start of every run."""

    async def planned(
        self: Agent, messages: Given, ctx: Given, options: Given
    ) -> Given:
        start = self._ctx if ctx is None else ctx
        plan = await self._planner.plan(start, (messages, options))
        return plan, plan.ctx

    return planned


def whole_object(_: Right) -> Right:
    """Take every method of a hook's name."""
    return lambda *_: None


def warning(often: Callable[[Extensions], int]) -> Patch:
    """Warn so often of an agent with both lists."""

    def warn(extensions: Extensions, _: Given, on_notice: Given) -> None:
        both = extensions.middlewares and extensions.handlers
        for _ in range(often(extensions) if both else 0):
            warnings.warn(MixedExtensionsWarning("both lists"), stacklevel=4)
            on_notice(Notice("warning", {"category": "MixedExtensionsWarning"}))

    return Patch(agent_module, "_warn", lambda _: warn)
