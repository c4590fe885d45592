"""Engines that are wrong about what an extension is (SURF, EXT)."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from property_tests.mutants.around import configured, handing_back, under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.lists import Found
from property_tests.mutants.engines.runs import whole_object
from property_tests.mutants.engines.wrapping import with_arguments
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import is_async
from refengine.context import Context
from refengine.messages import Message
from refengine.model import ModelRequest
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.tools import NO_OPTIONS


def _as_json(arguments: str) -> str:
    """Write the arguments of a call anew, where they are JSON."""
    with suppress(ValueError):
        return json.dumps(json.loads(arguments))
    return arguments


def _done(left: RunResult) -> RunResult:
    """Call a completed run done."""
    status: Any = "done"
    return replace(left, status=status) if left.status == "completed" else left


def _no_options(right: Right) -> Right:
    """Forget the options of the run where the model is wrapped."""

    def compile_(self: Given, layers: Given, innermost: Given, first: int = 0) -> Given:
        call = right(self, layers, innermost, first)
        if self.result_type not in {Message, StreamReader} or not layers:
            return call

        async def outer(ctx: Context, request: ModelRequest) -> Given:
            return await call(ctx, replace(request, options=NO_OPTIONS))

        return outer

    return compile_


def _only_configuring(right: Right) -> Right:
    """Register only those handlers that have ``before_agent``."""

    def collect(*given: Given) -> Given:
        found = right(*given)
        kept = tuple(each for each in found.handlers if "before_agent" in each.hooks)
        return replace(found, handlers=kept)

    return collect


def _same_names(right: Right) -> Right:
    """Show handlers by the name that they have themselves."""

    def collect(structs: Given, handlers: Given, *more: Given) -> Given:
        found = right(structs, handlers, *more)
        pairs = zip(found.handlers, handlers, strict=True)
        named = tuple(replace(each, name=given.name) for each, given in pairs)
        return replace(found, handlers=named)

    return collect


def _each_object_once(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
    seen = {id(each): each for each in config.handlers}
    return replace(config, handlers=list(seen.values()))


def _async_only(found: Found) -> Found:
    return [(name, hook) for name, hook in found if is_async(hook)]


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "arguments-parsed",
        "The arguments of a call are parsed and written anew.",
        "SURF-001",
        with_arguments(_as_json),
    ),
    wrong(
        "status-of-its-own",
        "A completed run has a status that the contract does not know.",
        "SURF-002",
        handing_back(_done),
    ),
    broken(
        "options-lost-where-wrapped",
        "A model that some handler wraps is called without the options of the run.",
        "EXT-001",
        patch("onion.compile", _no_options),
    ),
    broken(
        "only-configuring-handlers",
        "A handler without before_agent is not registered at all.",
        "EXT-002",
        patch("extensions.collect", _only_configuring),
    ),
    broken(
        "innermost-wrapper-lost",
        "Of several wrappers around tool calls the innermost is skipped.",
        "EXT-002",
        lists.handlers_layers(lists.but_last),
    ),
    broken(
        "hooks-set-ignored",
        "Every method with the name of a hook is called, whatever the object declares.",
        "EXT-003",
        patch("extensions.hooks_of", whole_object),
    ),
    wrong(
        "same-object-accepted",
        "One handler object may stand at two positions.",
        "EXT-004",
        under("same_handler_twice", "runs_twice"),
    ),
    wrong(
        "same-object-once",
        "An object that stands at two positions acts once.",
        "EXT-004",
        configured(_each_object_once),
        under="eino-0.9",
    ),
    broken(
        "equal-names-alike",
        "Handlers of one name are shown by that name alone.",
        "EXT-005",
        patch("extensions.collect", _same_names),
    ),
    wrong(
        "equal-names-refused",
        "Handlers of one name are refused where they may have one.",
        "EXT-006",
        under("equal_handler_names", "refused"),
    ),
    wrong(
        "equal-names-accepted",
        "Handlers of one name are accepted where names have to differ.",
        "EXT-006",
        under("equal_handler_names", "numbered"),
        under="langchain-1",
    ),
    broken(
        "plain-hooks-skipped",
        "A hook that is a plain function is not called.",
        "EXT-012",
        lists.hooks(_async_only, *lists.PASSES),
    ),
    wrong(
        "deprecation-untold",
        "Struct middlewares are deprecated and nobody is warned.",
        "EXT-007",
        under("struct_middleware", "supported"),
        under="eino-0.9",
    ),
    wrong(
        "deprecation-too-early",
        "Struct middlewares are warned about before they are deprecated.",
        "EXT-007",
        under("struct_middleware", "deprecated"),
    ),
)
