"""Engines that are wrong about what a wrapper may do, and what comes of it (WRAP)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.engines import lists
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
from refengine.chain import Call, Layer
from refengine.context import Context
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest
from refengine.tools import ToolCallInput, ToolCallResult

Next: TypeAlias = Callable[[Context, Any], Awaitable[Any]]
Wrapping: TypeAlias = Callable[[Next, Any], Next]


def _wraps(
    kind: type[object], change: Callable[[Given], Callable[..., Awaitable[Any]]]
) -> Patch:
    """Put another wrapper in the place of each in the onions of a kind."""

    def replaced(right: Right) -> Right:
        def layer(self: Given, each: Layer, at: int, inner: Call) -> Given:
            if self.result_type is not kind or each.wrap is None:
                return right(self, each, at, inner)
            return right(self, Layer(each.name, wrap=change(each.wrap)), at, inner)

        return layer

    return patch("onion.layer", replaced)


def _next_of(kind: type[object], change: Wrapping) -> Patch:
    """Give each wrapper of a kind another ``next``, made for the value of its call."""

    def changed(wrap: Given) -> Callable[..., Awaitable[Any]]:
        async def wrapper(ctx: Context, value: Given, call: Next) -> Given:
            return await wrap(ctx, value, change(call, value))

        return wrapper

    return _wraps(kind, changed)


def _once(call: Next, _: object) -> Next:
    kept: list[Given] = []

    async def following(ctx: Context, value: Given) -> Given:
        if not kept:
            kept.append(await call(ctx, value))
        return kept[0]

    return following


def _first_arguments(call: Next, entered: ToolCallInput) -> Next:
    arguments = entered.arguments

    async def following(ctx: Context, value: ToolCallInput) -> Given:
        return await call(ctx, replace(value, arguments=arguments))

    return following


def _own_messages(call: Next, entered: ModelRequest) -> Next:
    async def following(ctx: Context, value: ModelRequest) -> Given:
        return await call(ctx, replace(value, messages=entered.messages))

    return following


def _own_tools(call: Next, entered: ModelRequest) -> Next:
    async def following(ctx: Context, value: ModelRequest) -> Given:
        return await call(ctx, replace(value, tools=entered.tools))

    return following


def _eager(wrap: Given) -> Callable[..., Awaitable[Any]]:
    """Call inwards before the wrapper is asked."""

    async def wrapper(ctx: Context, value: Given, call: Next) -> Given:
        result = await call(ctx, value)

        async def following(*_: object) -> object:
            return result

        return await wrap(ctx, value, following)

    return wrapper


def _nothing_without_next(wrap: Given) -> Callable[..., Awaitable[Any]]:
    """Take an empty result for that of a wrapper that did not call ``next``."""

    async def wrapper(ctx: Context, value: Given, call: Next) -> Given:
        called: list[bool] = []

        async def following(*given: Given) -> object:
            called.append(True)
            return await call(*given)

        result = await wrap(ctx, value, following)
        return result if called else ToolCallResult("")

    return wrapper


def _trimmed_inside(right: Right) -> Right:
    """Trim what leaves a wrapper that stands in another one."""

    def layer(self: Given, each: Layer, at: int, inner: Call) -> Given:
        call = right(self, each, at, inner)
        if self.result_type is not ToolCallResult or at == 0 or call is inner:
            return call

        async def trimmed(ctx: Context, value: Given) -> ToolCallResult:
            result = await call(ctx, value)
            return ToolCallResult(result.result.strip())

        return trimmed

    return layer


def _trimmed(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> ToolCallResult:
        result = await right(ctx, value)
        return ToolCallResult(result.result.strip())

    return invoke


def error_as_result(right: Right) -> Right:
    """Make a result of what a tool raised, before any wrapper could see it."""

    async def invoke(ctx: Context, value: ToolCallInput) -> Given:
        try:
            return await right(ctx, value)
        except Exception as error:  # noqa: BLE001  # the fault that is meant
            return ToolCallResult(f"error: {error}")

    return invoke


def _redirecting() -> Sequence[Patch]:
    """Run the tool of the name that the wrappers handed on."""
    tools: dict[str, Given] = {}

    def remember(right: Right) -> Right:
        def prepare_call(
            self: Given, call: ToolCall, bound: Mapping[str, object]
        ) -> Given:
            tools.update(bound)
            return right(self, call, bound)

        return prepare_call

    def look_up(right: Right) -> Right:
        def arrive(ctx: Context, value: ToolCallInput) -> Given:
            scope, tool, at = right(ctx, value)
            return scope, tools.get(value.name, tool), at

        return arrive

    return patch("loop.prepare_call", remember), patch("tool.arrive", look_up)


def _trimmed_within(right: Right) -> Right:
    """Trim the model's answer where a wrapper sees it."""

    def compile_(
        self: Given, layers: Sequence[Layer], innermost: Next, first: int = 0
    ) -> Given:
        if self.result_type is not Message or not layers:
            return right(self, layers, innermost, first)

        async def inner(ctx: Context, request: ModelRequest) -> Message:
            return _stripped(await innermost(ctx, request))

        return right(self, layers, inner, first)

    return compile_


def _trimmed_answer(right: Right) -> Right:
    """Trim what leaves the wrappers around the model."""

    async def ask_model(self: Given, ctx: Context) -> Message | None:
        answer: Message | None = await right(self, ctx)
        if answer is None or self.machine.asks_bare:
            return answer
        return _stripped(answer)

    return ask_model


def _stripped(message: Message) -> Message:
    return replace(message, content=message.content.strip())


def run_twice(right: Right) -> Right:
    """Run the tool twice where it is called once."""

    async def invoke(ctx: Context, value: ToolCallInput) -> Given:
        await right(ctx, value)
        return await right(ctx, value)

    return invoke


def _no_empty_arguments(call: Next, _: object) -> Next:
    async def following(ctx: Context, value: ToolCallInput) -> Given:
        return await call(ctx, replace(value, arguments=value.arguments or "{}"))

    return following


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "tool-run-ahead-of-wrappers",
        "What is further in runs before a wrapper is asked.",
        "WRAP-004",
        _wraps(ToolCallResult, _eager),
    ),
    broken(
        "no-result-without-next",
        "The result of a wrapper that does not call next is thrown away.",
        "WRAP-005",
        _wraps(ToolCallResult, _nothing_without_next),
    ),
    broken(
        "second-next-remembered",
        "A second next gives what the first one gave.",
        "WRAP-006",
        _next_of(ToolCallResult, _once),
    ),
    broken(
        "changed-arguments-lost",
        "Further in are given the arguments that the wrapper was given.",
        "WRAP-008",
        _next_of(ToolCallResult, _first_arguments),
    ),
    broken(
        "tool-result-trimmed",
        "Wrappers get a tool's result without the space around it.",
        "WRAP-009",
        patch("tool.invoke", _trimmed),
    ),
    broken(
        "inner-result-trimmed",
        "Wrappers get what the wrapper inside left without the space around it.",
        "WRAP-010",
        patch("onion.layer", _trimmed_inside),
    ),
    broken(
        "errors-as-results",
        "Wrappers get a result that says that the tool failed.",
        "WRAP-013",
        patch("tool.invoke", error_as_result),
    ),
    wrong(
        "calls-redirected",
        "A wrapper that changes the name of its input calls another tool.",
        "WRAP-014",
        PatchedDoor("calls-redirected", _redirecting),
    ),
    broken(
        "request-edits-lost",
        "The model is asked with the messages that the wrapper was given.",
        "WRAP-020",
        _next_of(Message, _own_messages),
    ),
    broken(
        "hidden-tools-shown",
        "The model is told of tools that a wrapper took out.",
        "WRAP-021",
        _next_of(Message, _own_tools),
    ),
    broken(
        "answer-trimmed",
        "Wrappers get the model's answer without the space around it.",
        "WRAP-022",
        patch("onion.compile", _trimmed_within),
    ),
    broken(
        "wrapped-answer-trimmed",
        "What leaves the outermost model wrapper loses the space around it.",
        "WRAP-023",
        patch("loop.ask_model", _trimmed_answer),
    ),
    broken(
        "next-calls-the-tool-twice",
        "The tool is run twice where next is called once.",
        "WRAP-003",
        patch("tool.invoke", run_twice),
    ),
    broken(
        "empty-arguments-filled-in",
        "Empty arguments become an empty object on their way inwards.",
        "WRAP-007",
        _next_of(ToolCallResult, _no_empty_arguments),
    ),
    broken(
        "outermost-wrapper-skipped",
        "A call goes to the wrapper inside the outermost one.",
        "WRAP-001",
        lists.layers(lists.but_first),
    ),
    broken(
        "first-model-wrapper-skipped",
        "The outermost wrapper around the model is left out.",
        "WRAP-019",
        lists.hooks(lists.but_first, "wrap_model_call"),
    ),
)
