"""Engines that are wrong about in which order hooks of several extensions act (ORD)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from property_tests.mutants.engines.order_faults import (
    ended_anyhow,
    ended_early,
    flat,
    tools_first,
)
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import agent as agent_module
from refengine import hooks as hooks_module
from refengine.agent import Agent
from refengine.chain import Onion, Pipeline
from refengine.errors import MixedExtensionsWarning
from refengine.events import Notice
from refengine.extensions import Extensions
from refengine.react import Loop

Right: TypeAlias = Callable[..., Any]
Found: TypeAlias = "list[Any]"  # hooks or layers, with whose they are
Change: TypeAlias = Callable[[Found], Found]


def _backwards(right: Callable[..., None]) -> Callable[..., None]:
    def made(self: Pipeline, hooks: Sequence[Any]) -> None:
        right(self, hooks[::-1])

    return made


def _phases(field: str, change: Change) -> Patch:
    """Change the phases of the pass that struct middlewares take part in so."""

    def replace(right: Right) -> Right:
        def phases(extensions: Any, profile: Any, name: str, hook: str) -> Found:
            found: Found = right(extensions, profile, name, hook)
            return change(found) if name == field else found

        return phases

    return Patch(agent_module, "_phases", replace)


def _hooks(name: str, change: Change) -> Patch:
    """Change the handlers' hooks of that name."""

    def replace(right: Right) -> Right:
        def with_hook(self: Extensions, hook: str) -> Found:
            found: Found = right(self, hook)
            return change(found) if hook == name else found

        return with_hook

    return Patch(Extensions, "with_hook", replace)


def _structs(name: str, change: Change) -> Patch:
    """Change the structs' callbacks in that field."""

    def replace(right: Right) -> Right:
        def model_hooks(self: Extensions, field: str) -> Found:
            found: Found = right(self, field)
            return change(found) if field == name else found

        return model_hooks

    return Patch(Extensions, "model_hooks", replace)


def _layers(change: Change) -> Patch:
    """Change the layers around tool calls."""

    def replace(right: Right) -> Right:
        def tool_layers(self: Extensions, kind: Any, config: Any) -> Found:
            return change(right(self, kind, config))

        return tool_layers

    return Patch(Extensions, "tool_layers", replace)


def _reversed(found: Found) -> Found:
    return found[::-1]


def _but_last(found: Found) -> Found:
    return found[: max(len(found) - 1, 1)]


def _last_twice(found: Found) -> Found:
    return [*found, *found[-1:]]


def _handlers_outside(found: Found) -> Found:
    return sorted(found, key=lambda layer: layer.factory is not None)


def _structs_outside(found: Found) -> Found:
    hooks = ["wrap_tool_call", "tool_call_middlewares"]
    given = [each for each in found if each.factory is not None]
    given.sort(key=lambda layer: hooks.index(layer.name.hook))
    return [*given, *(each for each in found if each.factory is None)]


def _last_handler_outside(found: Found) -> Found:
    given = [each for each in found if each.factory is not None]
    return [*given, *(each for each in found[::-1] if each.factory is None)]


def _structs_backwards(found: Found) -> Found:
    structs = [each for each in found if each.name.hook == "wrap_tool_call"]
    left = structs[::-1]
    return [left.pop(0) if each in structs else each for each in found]


def _planned_anew(_: Right) -> Right:
    async def planned(self: Agent, messages: Any, ctx: Any, options: Any) -> Any:  # noqa: ANN401
        start = self._ctx if ctx is None else ctx
        plan = await self._planner.plan(start, (messages, options))
        return plan, plan.ctx

    return planned


def _whole_object(_: Right) -> Right:
    return lambda *_: None


def _warning(often: Callable[[Extensions], int]) -> Patch:
    def warn(extensions: Extensions, _: Any, on_notice: Any) -> None:  # noqa: ANN401
        both = extensions.middlewares and extensions.handlers
        for _ in range(often(extensions) if both else 0):
            warnings.warn(MixedExtensionsWarning("both lists"), stacklevel=4)
            on_notice(Notice("warning", {"category": "MixedExtensionsWarning"}))

    return Patch(agent_module, "_warn", lambda _: warn)


def _mutant(id_: str, about: str, violates: Sequence[str], *patches: Patch, under: str = "seed-001") -> Mutant:
    door = patched(id_.replace("-", " "), *patches)
    return Mutant(id=id_, about=about, violates=tuple(violates), wrong=door, under=under)


_TOOLS_FIRST: Final = tools_first({})

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="pipelines-reversed",
        about="Every pipeline calls the last hook first.",
        violates=("ORD-001", "ORD-003", "ORD-007"),
        wrong=patched("pipelines reversed", Patch(Pipeline, "__init__", _backwards)),
    ),
    _mutant(
        "before-handlers-first",
        "Handlers' before-model hooks are called before those of structs.",
        ["ORD-001"],
        _phases("before_chat_model", _reversed),
    ),
    _mutant(
        "before-structs-reversed",
        "The last struct's before_chat_model is called first.",
        ["ORD-001"],
        _structs("before_chat_model", _reversed),
    ),
    _mutant(
        "last-before-hook-missing",
        "Of several before-model hooks of handlers the last one is never called.",
        ["ORD-002"],
        _hooks("before_model_rewrite_history", _but_last),
    ),
    _mutant(
        "last-before-hook-twice",
        "The last handler's before-model hook is called twice in a pass.",
        ["ORD-002"],
        _hooks("before_model_rewrite_history", _last_twice),
    ),
    _mutant(
        "after-handlers-first",
        "With both lists the handlers' after-model hooks are called first, as eino does.",
        ["ORD-003"],
        _phases("after_chat_model", _reversed),
    ),
    _mutant(
        "after-structs-first",
        "With both lists the structs' after-model hooks are called first, as before.",
        ["ORD-003"],
        _phases("after_chat_model", _reversed),
        under="eino-0.9",
    ),
    _mutant(
        "last-after-hook-missing",
        "Of several after-model hooks of handlers the last one is never called.",
        ["ORD-004"],
        _hooks("after_model_rewrite_history", _but_last),
    ),
    _mutant(
        "before-agent-reversed",
        "The last handler's before_agent is called first.",
        ["ORD-005"],
        _hooks("before_agent", _reversed),
    ),
    _mutant(
        "before-agent-last-missing",
        "Of several before_agent hooks the last one is never called.",
        ["ORD-006"],
        _hooks("before_agent", _but_last),
    ),
    _mutant(
        "before-agent-each-run",
        "The before_agent hooks run at build, and again at the start of every run.",
        ["ORD-006"],
        Patch(Agent, "planned", _planned_anew),
    ),
    _mutant(
        "after-agent-reversed",
        "The last handler's after_agent is called first.",
        ["ORD-007"],
        _hooks("after_agent", _reversed),
    ),
    _mutant(
        "after-agent-last-missing",
        "Of several after_agent hooks the last one is never called.",
        ["ORD-008"],
        _hooks("after_agent", _but_last),
    ),
    _mutant(
        "after-agent-anyhow",
        "The after_agent hooks are also called for a run that did not succeed.",
        ["ORD-008"],
        Patch(Loop, "_leave", ended_anyhow),
    ),
    _mutant(
        "model-wrappers-reversed",
        "Around a model call the last handler is the outermost.",
        ["ORD-009"],
        _hooks("wrap_model_call", _reversed),
    ),
    _mutant(
        "model-wrapper-missing",
        "The innermost wrapper around the model is left out.",
        ["ORD-010"],
        _hooks("wrap_model_call", _but_last),
    ),
    _mutant(
        "model-wrapper-twice",
        "The innermost wrapper around the model is entered twice.",
        ["ORD-010"],
        _hooks("wrap_model_call", _last_twice),
    ),
    _mutant(
        "onions-flat",
        "Every wrapper is given the innermost result and resumed outermost first.",
        ["ORD-011", "ORD-015"],
        Patch(Onion, "compile", flat),
    ),
    _mutant(
        "tool-handlers-outside",
        "Handlers' wrappers are outside of those of structs and tools configuration.",
        ["ORD-012"],
        _layers(_handlers_outside),
    ),
    _mutant(
        "tool-structs-outside",
        "Structs' wrappers are outside of those of the tools configuration.",
        ["ORD-012"],
        _layers(_structs_outside),
    ),
    _mutant(
        "tool-last-handler-outside",
        "The last handler's wrapper is the outermost one, as in eino v0.8.0 to v0.8.11.",
        ["ORD-013"],
        _layers(_last_handler_outside),
    ),
    _mutant(
        "tool-structs-backwards",
        "Of the structs' wrappers the last one is the outermost.",
        ["ORD-013"],
        _layers(_structs_backwards),
    ),
    _mutant(
        "tool-wrapper-missing",
        "The innermost wrapper around a call is left out.",
        ["ORD-014"],
        _layers(_but_last),
    ),
    _mutant(
        "tool-wrapper-twice",
        "The innermost wrapper around a call is entered twice.",
        ["ORD-014"],
        _layers(_last_twice),
    ),
    _mutant(
        "tools-before-after-hooks",
        "The calls of an answer run before the after-model hooks see it.",
        ["ORD-016"],
        Patch(Loop, "_phases", _TOOLS_FIRST[0]),
        Patch(Loop, "_batch_of", _TOOLS_FIRST[1]),
    ),
    _mutant(
        "after-agent-before-after-hooks",
        "The after_agent hooks are called before the last after-model hooks.",
        ["ORD-017"],
        Patch(Loop, "_phases", ended_early),
    ),
    _mutant(
        "absent-hooks-called",
        "Every method of a hook's name is called, whatever the object's set says.",
        ["ORD-018"],
        Patch(hooks_module, "_declared", _whole_object),
    ),
    _mutant(
        "mixed-lists-silent",
        "Nobody is told that both lists of extensions are used.",
        ["ORD-019"],
        _warning(lambda _: 0),
    ),
    _mutant(
        "mixed-lists-each-handler",
        "The warning about both lists is given for every handler.",
        ["ORD-019"],
        _warning(lambda extensions: len(extensions.handlers)),
    ),
)
