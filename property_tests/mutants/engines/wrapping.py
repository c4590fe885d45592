"""Engines that are wrong about what a wrapper may do, and what comes of it (WRAP)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import tool_onion
from refengine.chain import Call, Layer, Onion
from refengine.context import Context
from refengine.loop import Loop
from refengine.messages import Message
from refengine.model import ModelRequest
from refengine.model_calls import ModelCall, ModelOnion
from refengine.tool_calls import CallBatch, ToolCallRun
from refengine.tool_onion import ToolLayer, ToolOnion
from refengine.tools import ToolCallInput, ToolCallResult

Right: TypeAlias = Callable[..., Any]
Next: TypeAlias = Callable[[Context, Any], Awaitable[Any]]


def _next_of(
    kind: type[object], change: Callable[[Next, Any], Next], *, tool: bool = True
) -> Patch:
    """Give each wrapper of a kind another ``next``, made for the value of its call.

    ``tool`` tells whether that of the innermost wrapper changes, too.
    """

    def made(right: Right) -> Right:
        def layer(self: Onion, each: Layer, at: int, inner: Call) -> Call:
            own = inner in {tool_onion.invoke_tool, tool_onion.stream_tool}
            wrap = each.wrap
            if self.result_type is not kind or wrap is None or (own and not tool):
                return cast("Call", right(self, each, at, inner))

            async def changed(ctx: Context, value: Any, call: Call) -> Any:  # noqa: ANN401  # its own
                return await wrap(ctx, value, change(call, value))

            return cast("Call", right(self, Layer(each.name, wrap=changed), at, inner))

        return layer

    return Patch(Onion, "layer", made)


def _once(call: Next, _: object) -> Next:
    kept: list[Any] = []

    async def following(ctx: Context, value: Any) -> Any:  # noqa: ANN401  # its own
        if not kept:
            kept.append(await call(ctx, value))
        return kept[0]

    return following


def _no_empty_arguments(call: Next, _: object) -> Next:
    async def following(ctx: Context, value: ToolCallInput) -> Any:  # noqa: ANN401  # its own
        return await call(ctx, replace(value, arguments=value.arguments or "{}"))

    return following


def _first_arguments(call: Next, entered: ToolCallInput) -> Next:
    arguments = entered.arguments

    async def following(ctx: Context, value: ToolCallInput) -> Any:  # noqa: ANN401  # its own
        return await call(ctx, replace(value, arguments=arguments))

    return following


def _trimmed_inside(call: Next, _: object) -> Next:
    async def following(ctx: Context, value: Any) -> ToolCallResult:  # noqa: ANN401  # its own
        result: ToolCallResult = await call(ctx, value)
        return ToolCallResult(result.result.strip())

    return following


def _own_messages(call: Next, entered: ModelRequest) -> Next:
    async def following(ctx: Context, value: ModelRequest) -> Any:  # noqa: ANN401  # its own
        return await call(ctx, replace(value, messages=entered.messages))

    return following


def _own_tools(call: Next, entered: ModelRequest) -> Next:
    async def following(ctx: Context, value: ModelRequest) -> Any:  # noqa: ANN401  # its own
        return await call(ctx, replace(value, tools=entered.tools))

    return following


def _eager(right: Right) -> Right:
    """Call inwards before the wrapper is asked."""

    def layer(self: Onion, each: Layer, at: int, inner: Call) -> Call:
        wrap = each.wrap
        if self.result_type is not ToolCallResult or wrap is None:
            return cast("Call", right(self, each, at, inner))

        async def changed(ctx: Context, value: Any, call: Call) -> Any:  # noqa: ANN401  # its own
            result = await call(ctx, value)

            async def following(*_: object) -> object:
                return result

            return await wrap(ctx, value, following)

        return cast("Call", right(self, Layer(each.name, wrap=changed), at, inner))

    return layer


def _nothing_without_next(right: Right) -> Right:
    """Take an empty result for that of a wrapper that did not call ``next``."""

    def layer(self: Onion, each: Layer, at: int, inner: Call) -> Call:
        wrap = each.wrap
        if self.result_type is not ToolCallResult or wrap is None:
            return cast("Call", right(self, each, at, inner))

        async def changed(ctx: Context, value: Any, call: Call) -> Any:  # noqa: ANN401  # its own
            called: list[bool] = []

            async def following(*args: Any) -> object:  # noqa: ANN401  # its own
                called.append(True)
                return await call(*args)

            result = await wrap(ctx, value, following)
            return result if called else ToolCallResult("")

        return cast("Call", right(self, Layer(each.name, wrap=changed), at, inner))

    return layer


def _invoking(change: Callable[[Right], Right]) -> Patch:
    """Change what the innermost ``next`` does for a tool in one piece."""
    return Patch(tool_onion, "invoke_tool", change)


def _twice(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> object:
        await right(ctx, value)
        return await right(ctx, value)

    return invoke


def _trimmed(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> ToolCallResult:
        result = await right(ctx, value)
        return ToolCallResult(result.result.strip())

    return invoke


def _another_error(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> object:
        try:
            return await right(ctx, value)
        except Exception as error:
            raise RuntimeError("the tool failed") from error

    return invoke


def _error_as_result(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> object:
        try:
            return await right(ctx, value)
        except Exception as error:  # noqa: BLE001  # the fault that is meant
            return ToolCallResult(f"error: {error}")

    return invoke


def _without_options(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> object:
        return await right(ctx, replace(value, call_options={}))

    return invoke


def _without_outermost(right: Right) -> Right:
    def init(
        self: ToolOnion, kind: str, layers: Sequence[ToolLayer], **how: bool
    ) -> None:
        right(self, kind, layers[1:], **how)

    return init


def _reformatted(right: Right) -> Right:
    def init(self: ToolCallRun, *args: Any) -> None:  # noqa: ANN401  # its own
        right(self, *args)
        self.input.arguments = self.input.arguments.replace(" ", "")

    return init


def _trimmed_result(right: Right) -> Right:
    async def opened(
        self: ToolCallRun, ctx: Context, streaming: bool
    ) -> None:  # its own
        await right(self, ctx, streaming)
        self.text = None if self.text is None else self.text.strip()

    return opened


def _redirecting() -> tuple[Patch, Patch]:
    """Run the tool of the name that the wrappers handed on."""
    tools: dict[str, Any] = {}

    def remember(right: Right) -> Right:
        def run_of(self: Loop, call: object, bound: Mapping[str, object]) -> object:
            tools.update(bound)
            return right(self, call, bound)

        return run_of

    def look_up(right: Right) -> Right:
        def arrive(ctx: Context, value: ToolCallInput) -> object:
            scope, tool, at = right(ctx, value)
            return scope, tools.get(value.name, tool), at

        return arrive

    return Patch(Loop, "prepare_call", remember), Patch(tool_onion, "arrive", look_up)


def _leaking(right: Right) -> Right:
    def init(self: CallBatch, *args: Any, **more: Any) -> None:  # noqa: ANN401  # its own
        right(self, *args, **more)
        self._leak = True

    return init


def _silent(_: Right) -> Right:
    def tell(_self: Loop, _batch: CallBatch) -> None:
        return None

    return tell


def _model_onion(change: Callable[[ModelOnion], None]) -> Patch:
    """Change the model's onion before it is compiled."""

    def made(right: Right) -> Right:
        def init(self: ModelOnion, *args: Any, **how: Any) -> None:  # noqa: ANN401  # its own
            right(self, *args, **how)
            change(self)

        return init

    return Patch(ModelOnion, "__init__", made)


def _no_model_options(onion: ModelOnion) -> None:
    right: Right = onion._invoke  # noqa: SLF001  # a mutant looks inside

    async def invoke(*args: Any) -> Message:  # noqa: ANN401  # its own
        return cast("Message", await right(*args[:-1], {}))

    onion._invoke = invoke  # noqa: SLF001  # a mutant looks inside


def _without_first_wrapper(onion: ModelOnion) -> None:
    onion._layers = onion._layers[1:]  # noqa: SLF001  # a mutant looks inside
    onion._names = onion._names[1:]  # noqa: SLF001  # a mutant looks inside


def _trimmed_answer(right: Right) -> Right:
    async def call(self: Any, *args: Any) -> Message:  # noqa: ANN401  # its own
        message: Message = await right(self, *args)
        return replace(message, content=message.content.strip())

    return call


def _mutant(id_: str, about: str, clause: str, *patches: Patch, **more: Any) -> Mutant:  # noqa: ANN401  # a mutant's fields
    wrong = patched(id_.replace("-", " "), *patches)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong, **more)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "outermost-wrapper-skipped",
        "A call goes to the wrapper inside the outermost one.",
        "WRAP-001",
        Patch(ToolOnion, "__init__", _without_outermost),
    ),
    _mutant(
        "arguments-reformatted",
        "Wrappers are given the arguments without their spaces.",
        "WRAP-002",
        Patch(ToolCallRun, "__init__", _reformatted),
    ),
    _mutant(
        "next-calls-the-tool-twice",
        "The tool is run twice where next is called once.",
        "WRAP-003",
        _invoking(_twice),
    ),
    _mutant(
        "tool-run-ahead-of-wrappers",
        "What is further in runs before a wrapper is asked.",
        "WRAP-004",
        Patch(Onion, "layer", _eager),
    ),
    _mutant(
        "no-result-without-next",
        "The result of a wrapper that does not call next is thrown away.",
        "WRAP-005",
        Patch(Onion, "layer", _nothing_without_next),
    ),
    _mutant(
        "second-next-remembered",
        "A second next gives what the first one gave.",
        "WRAP-006",
        _next_of(ToolCallResult, _once),
    ),
    _mutant(
        "empty-arguments-filled-in",
        "Empty arguments become an empty object on their way inwards.",
        "WRAP-007",
        _next_of(ToolCallResult, _no_empty_arguments),
    ),
    _mutant(
        "changed-arguments-lost",
        "Further in are given the arguments that the wrapper was given.",
        "WRAP-008",
        _next_of(ToolCallResult, _first_arguments),
    ),
    _mutant(
        "tool-result-trimmed",
        "Wrappers get a tool's result without the space around it.",
        "WRAP-009",
        _invoking(_trimmed),
    ),
    _mutant(
        "inner-result-trimmed",
        "Wrappers get what the wrapper inside left without the space around it.",
        "WRAP-010",
        _next_of(ToolCallResult, _trimmed_inside, tool=False),
    ),
    _mutant(
        "onion-result-trimmed",
        "What leaves the outermost wrapper loses the space around it.",
        "WRAP-011",
        Patch(ToolCallRun, "open", _trimmed_result),
    ),
    _mutant(
        "another-exception",
        "Wrappers see an exception of the engine's in place of the tool's.",
        "WRAP-012",
        _invoking(_another_error),
    ),
    _mutant(
        "errors-as-results",
        "Wrappers get a result that says that the tool failed.",
        "WRAP-013",
        _invoking(_error_as_result),
    ),
    _mutant(
        "calls-redirected",
        "A wrapper that changes the name of its input calls another tool.",
        "WRAP-014",
        *_redirecting(),
    ),
    _mutant(
        "changed-call-id-told",
        "A call id that a wrapper changed stands on the event.",
        "WRAP-015",
        Patch(CallBatch, "__init__", _leaking),
    ),
    _mutant(
        "changes-ignored-silently",
        "Nobody is told that a changed name was ignored.",
        "WRAP-016",
        Patch(Loop, "_tell_ignored", _silent),
    ),
    _mutant(
        "tools-without-options",
        "Tools are called without the options of the run.",
        "WRAP-017",
        _invoking(_without_options),
    ),
    _mutant(
        "model-without-options",
        "The model is called without the options of the run.",
        "WRAP-018",
        _model_onion(_no_model_options),
    ),
    _mutant(
        "first-model-wrapper-skipped",
        "The outermost wrapper around the model is left out.",
        "WRAP-019",
        _model_onion(_without_first_wrapper),
    ),
    _mutant(
        "request-edits-lost",
        "The model is asked with the messages that the wrapper was given.",
        "WRAP-020",
        _next_of(Message, _own_messages),
    ),
    _mutant(
        "hidden-tools-shown",
        "The model is told of tools that a wrapper took out.",
        "WRAP-021",
        _next_of(Message, _own_tools),
    ),
    _mutant(
        "answer-trimmed",
        "Wrappers get the model's answer without the space around it.",
        "WRAP-022",
        Patch(ModelOnion, "_innermost_call", _trimmed_answer),
    ),
    _mutant(
        "wrapped-answer-trimmed",
        "What leaves the outermost model wrapper loses the space around it.",
        "WRAP-023",
        Patch(ModelCall, "invoke", _trimmed_answer),
    ),
)
