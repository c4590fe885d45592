"""A whole run as one would write it by hand, with a handler's part in its place.

It checks nothing, names nobody who raised, tells no events and survives no deep stack;
it makes the calls that the engine makes, on the same objects. An onion has no coroutine
of its own between two handlers: less than this Python does not allow. One that does
anything at all between them has one (``awaiting``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from benchmarks.measure import Work
from benchmarks.noops import Rewriter
from benchmarks.parts import ANSWERS, ASKS, INSTRUCTION, SharedParts
from benchmarks.specs import STREAMED_HOOK, Setting
from refengine import Context, Message, ModelRequest, ToolCallInput, ToolCallResult
from refengine.errors import RefengineError
from refengine.hooks import AgentConfig
from refengine.messages import join_chunks
from refengine.tools import NO_OPTIONS, StreamToolCallResult, ToolInfo, ToolMeta

DEEPEST: Final = 900
"""Layers of an onion by hand; near a thousand, Python's stack ends it."""

Call: TypeAlias = Callable[..., Awaitable[Any]]
HELLO: Final = Message("user", "Say hello.")


class TooDeepByHandError(RefengineError):
    """An onion that plain Python cannot run."""

    def __init__(self, layers: int) -> None:
        self.layers = layers
        super().__init__(
            f"a bare onion of {layers:,} layers is more than Python's stack holds"
            f" ({DEEPEST} are measured)"
        )


@dataclass(frozen=True, slots=True)
class HookCalls:
    """Where handlers take part in a run by hand, as the hooks themselves."""

    before: Sequence[Call] = ()
    after: Sequence[Call] = ()
    around_model: Sequence[Call] = ()
    around_tool: Sequence[Call] = ()
    around_stream: Sequence[Call] = ()
    at_end: Sequence[Call] = ()


_FIELDS: Final = {
    "before_model_rewrite_history": "before",
    "after_model_rewrite_history": "after",
    "wrap_model_call": "around_model",
    "wrap_invokable_tool_call": "around_tool",
    "wrap_streamable_tool_call": "around_stream",
    "after_agent": "at_end",
}


def run(setting: Setting, kit: SharedParts, handlers: Sequence[object]) -> Work:
    """Return a run with these handlers at the setting's hook.

    Raises TooDeepByHandError.
    """
    role = _FIELDS[setting.hook]
    if role.startswith("around") and len(handlers) > DEEPEST:
        raise TooDeepByHandError(len(handlers))
    hooks = [getattr(each, setting.hook) for each in handlers]
    by_hook = HookCalls(**{role: hooks})
    messages = (HELLO,) * setting.history
    loop = _Loop(setting, kit, by_hook)
    return lambda: loop.run(messages)


async def await_hooks(
    handlers: Sequence[Rewriter], ctx: Context, messages: Sequence[Message]
) -> tuple[Context, Sequence[Message]]:
    """Send a history through the handlers: a bare loop of awaits."""
    for each in handlers:
        ctx, messages = await each.before_model_rewrite_history(ctx, messages)
    return ctx, messages


def build(setting: Setting, handlers: Sequence[object]) -> Work:
    """Return the part of a build in which each handler may change the configuration."""
    hooks: list[Call] = [getattr(each, setting.hook) for each in handlers]

    async def work() -> AgentConfig:
        config = AgentConfig(INSTRUCTION, list[ToolMeta]())
        ctx: Any = Context()
        for hook in hooks:
            made: Any = hook(ctx, config)
            ctx = made if setting.plain else await made
        return config

    return work


class _Loop:
    """The loop: model, tools, model again, until there is nothing more to call."""

    def __init__(self, setting: Setting, kit: SharedParts, hooks: HookCalls) -> None:
        streamed = setting.hook == STREAMED_HOOK
        make: Any = kit.streamed_tool if streamed else kit.tool
        made: list[Any] = [make(name) for name in setting.tool_names]
        self._tools: dict[str, Call] = {
            tool.info.name: _stream_onion(hooks.around_stream, tool.stream)
            if streamed
            else tool_onion(hooks.around_tool, tool.invoke)
            for tool in made
        }
        self._shown: list[ToolInfo] = [tool.info for tool in made]
        self._hooks = hooks
        self._plain = setting.plain
        self._model = self._model_call(setting, kit)

    def _model_call(self, setting: Setting, kit: SharedParts) -> Call:
        around = self._hooks.around_model
        if setting.stream:
            return _streamed(_asking(around, kit.streamed_model(ASKS, ANSWERS).stream))
        return _asking(around, kit.model(ASKS, ANSWERS).invoke)

    async def run(self, messages: Sequence[Message]) -> Message:
        hooks, model, shown, plain = (
            self._hooks,
            self._model,
            self._shown,
            self._plain,
        )
        ctx: Any = Context()
        history: Any = [Message("system", INSTRUCTION), *messages]
        made: Any
        while True:
            for hook in hooks.before:
                made = hook(ctx, history)
                ctx, history = made if plain else await made
            answer: Message = await model(ctx, history, shown)
            history.append(answer)
            for hook in hooks.after:
                made = hook(ctx, history)
                ctx, history = made if plain else await made
            if not answer.tool_calls:
                for hook in hooks.at_end:
                    made = hook(ctx, history)
                    ctx = made if plain else await made
                return answer
            for call in answer.tool_calls:
                value = ToolCallInput(call.name, call.arguments, call.id, NO_OPTIONS)
                text = await self._tools[call.name](ctx, value)
                history.append(
                    Message("tool", text, tool_call_id=call.id, name=call.name)
                )


def handing(wrap: Call, inner: Call) -> Call:
    """Return a layer that is no coroutine of its own."""

    def call(ctx: Context, value: object) -> Awaitable[Any]:
        return wrap(ctx, value, inner)

    return call


def awaiting(wrap: Call, inner: Call) -> Call:
    """Return a layer that awaits the handler, and could do more."""

    async def call(ctx: Context, value: object) -> Any:  # noqa: ANN401  # any layer's
        return await wrap(ctx, value, inner)

    return call


Layer: TypeAlias = Callable[[Call, Call], Call]


def _nest(around: Sequence[Call], call: Call, layer: Layer = handing) -> Call:
    for wrap in reversed(around):
        call = layer(wrap, call)
    return call


def model_onion(around: Sequence[Call], model: Call, layer: Layer = handing) -> Call:
    """Return the call of the model with a request, through these wrappers."""

    def innermost(ctx: Context, request: ModelRequest) -> Awaitable[Any]:
        return model(ctx, request.messages, request.tools, request.options)

    return _nest(around, innermost, layer)


def _asking(around: Sequence[Call], model: Call) -> Call:
    """Return the model's call, through these wrappers if there are any."""

    def asked(ctx: Context, messages: object, shown: object) -> Awaitable[Any]:
        return model(ctx, messages, shown, NO_OPTIONS)

    nest = model_onion(around, model)

    def wrapped(ctx: Context, messages: Any, shown: Any) -> Awaitable[Any]:  # noqa: ANN401  # lists
        return nest(ctx, ModelRequest(messages, shown))

    return wrapped if around else asked


def _streamed(call: Call) -> Call:
    async def read(*given: object) -> Message:
        reader = await call(*given)
        chunks = [chunk async for chunk in reader]
        await reader.aclose()
        return join_chunks(chunks)

    return read


def tool_onion(around: Sequence[Call], invoke: Call, layer: Layer = handing) -> Call:
    """Return the tool's call, through these wrappers."""

    async def innermost(ctx: Context, value: ToolCallInput) -> ToolCallResult:
        return ToolCallResult(await invoke(ctx, value.arguments, value.call_options))

    nest = _nest(around, innermost, layer)

    async def called(ctx: Context, value: ToolCallInput) -> str:
        result: ToolCallResult = await nest(ctx, value)
        return result.result

    return called


def _stream_onion(around: Sequence[Call], stream: Call) -> Call:
    async def innermost(ctx: Context, value: ToolCallInput) -> StreamToolCallResult:
        reader = await stream(ctx, value.arguments, value.call_options)
        return StreamToolCallResult(reader)

    nest = _nest(around, innermost)

    async def called(ctx: Context, value: ToolCallInput) -> str:
        result: StreamToolCallResult = await nest(ctx, value)
        text = "".join([chunk async for chunk in result.result])
        await result.result.aclose()
        return text

    return called
