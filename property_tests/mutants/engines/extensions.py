"""Engines that are wrong about what an extension is, and about very many of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from property_tests.mutants.around import configured, handing_back, under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.lists import Found
from property_tests.mutants.engines.runs import whole_object
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch, wrong
from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import is_async
from refengine.context import Context
from refengine.errors import TooManyExtensionsError
from refengine.extensions import MAX_EXTENSIONS
from refengine.messages import Message
from refengine.model import ModelRequest
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.tools import NO_OPTIONS


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


def _each_object_once(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
    seen = {id(each): each for each in config.handlers}
    return replace(config, handlers=list(seen.values()))


def _async_only(found: Found) -> Found:
    return [(name, hook) for name, hook in found if is_async(hook)]


MOST: Final = 1_000
"""So many extensions still work in these engines."""


def _limited_to(most: int) -> Patch:
    def replaced(_: Right) -> Right:
        def refuse_too_many(number: int) -> None:
            if number > most:
                raise TooManyExtensionsError(number, most)

        return refuse_too_many

    return patch("extensions.refuse_too_many", replaced)


def _first_ones(found: lists.Found) -> lists.Found:
    """Leave out what stands behind the first, and say nothing."""
    return found[:MOST]


def _first_layers(right: Right) -> Right:
    """Enter the first layers of an onion, and silently no more."""

    def compile_(self: Given, layers: Given, innermost: Given, first: int = 0) -> Given:
        return right(self, layers[:MOST], innermost, first)

    return compile_


def _never_deep(_: Right) -> Right:
    return lambda: False


def _done(left: RunResult) -> RunResult:
    """Call a completed run done."""
    status: Any = "done"
    return replace(left, status=status) if left.status == "completed" else left


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "options-lost-where-wrapped",
        "A model that some handler wraps is called without the options of the run.",
        "EXT-001",
        patch("onion.compile", _no_options),
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
    broken(
        "one-less-than-promised",
        "One extension less is accepted than is promised.",
        "DEEP-001",
        _limited_to(MAX_EXTENSIONS - 1),
    ),
    broken(
        "any-number-accepted",
        "More extensions are accepted than are promised to work.",
        "DEEP-002",
        _limited_to(1 << 30),
    ),
    broken(
        "hooks-beyond-a-thousand-skipped",
        "A pipeline calls its first thousand hooks, and no more.",
        "DEEP-003",
        lists.hooks(_first_ones, *lists.PASSES),
    ),
    broken(
        "layers-beyond-a-thousand-skipped",
        "An onion has its first thousand layers, and no more.",
        "DEEP-004 DEEP-005 DEEP-006",
        patch("onion.compile", _first_layers),
    ),
    *(
        broken(
            f"{kind}-layers-skipped",
            f"The onion around {kind} tools has its first thousand layers.",
            clause,
            lists.layers(_first_ones, kind),
        )
        for kind, clause in (("invokable", "DEEP-005"), ("streamable", "DEEP-006"))
    ),
    broken(
        "stack-overflows",
        "Every layer stands on the stack of the one around it.",
        "DEEP-007",
        patch("onion.is_deep", _never_deep),
    ),
    wrong(
        "status-of-its-own",
        "A completed run has a status that the contract does not know.",
        "SURF-002",
        handing_back(_done),
    ),
)
