"""Extensions of a scenario as real objects: handlers and struct middlewares.

Each enters and leaves its hooks on the record (``hook_enter``, ``hook_exit``), whatever
else its operations do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, TypeVar, cast

from refengine.context import Context
from refengine.hooks import AgentConfig, ModelEndpoint
from refengine.interrupts import is_reentry
from refengine.messages import Message
from refengine.model import MessageStream, ModelRequest
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState
from refengine.testing.ops import MessageOp
from refengine.testing.perform import (
    UNSET,
    Extension,
    Surroundings,
    config_of,
    perform_config,
    perform_messages,
)
from refengine.testing.recorder import messages_seen
from refengine.testing.scenario import (
    HandlerSpec,
    MiddlewareSpec,
    ModelWrapSpec,
    ToolWrapSpec,
)
from refengine.testing.wrapping import (
    FactoryError,
    Invoked,
    Made,
    Streamed,
    ToolKind,
    call_model,
)
from refengine.tools import (
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolMiddleware,
)

R = TypeVar("R", ToolCallResult, StreamToolCallResult)
_Endpoint: TypeAlias = Callable[[Context, ToolCallInput], Awaitable[R]]
INVOKED: Final[ToolKind[ToolCallResult]] = Invoked()
STREAMED: Final[ToolKind[StreamToolCallResult]] = Streamed()

EDITED: Final = "refengine.testing.after_agent"
"""Where in the context the messages stand that after_agent hooks edited."""

HOOK_OF: Final = {
    "before_agent": "before_agent",
    "before_model": "before_model_rewrite_history",
    "after_model": "after_model_rewrite_history",
    "after_agent": "after_agent",
    "wrap_model": "wrap_model_call",
    "wrap_invokable": "wrap_invokable_tool_call",
    "wrap_streamable": "wrap_streamable_tool_call",
}
"""The scenario's name of a hook, and the engine's."""


@dataclass(frozen=True, slots=True)
class Named:
    """One hook of one extension, as entries of a trace name it."""

    extension: str
    position: int
    hook: str
    _who: dict[str, object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        who = {
            "extension": self.extension,
            "position": self.position,
            "hook": self.hook,
        }
        object.__setattr__(self, "_who", who)

    def enter(
        self,
        me: Extension,
        ctx: Context,
        seen: object,
        call_id: str | None = None,
        **more: object,
    ) -> None:
        """Put down that the hook was entered, perhaps again, and what it was given."""
        data = {**self._who, **more, "seen": seen, "ctx": ctx.get("h", UNSET)}
        if is_reentry():
            data["reentry"] = True
        me.world.recorder.add("hook_enter", data, call_id)

    def exit(
        self, me: Extension, ctx: Context, value: object, call_id: str | None = None
    ) -> None:
        """Put down that the hook returned, and what it left."""
        data = {**self._who, "value": value, "ctx": ctx.get("h", UNSET)}
        me.world.recorder.add("hook_exit", data, call_id)


class WorldHandler:
    """A handler that does what its spec says."""

    def __init__(self, spec: HandlerSpec, position: int, world: Surroundings) -> None:
        self.name: str = spec.id or f"handler-{position}"
        given = {
            hook for key, hook in HOOK_OF.items() if getattr(spec, key) is not None
        }
        # A handler needs a hook; one that was given none takes part and does nothing.
        self.hooks: frozenset[str] = frozenset(given or {"before_agent"})
        self._spec = spec
        self._me = Extension(world, spec.id, spec.in_place)
        self._position = position
        self._named: dict[str, Named] = {}

    async def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        ctx = self._configure(ctx, config)
        if self._me.waits:
            await self._me.rest()
        return self._me.left(ctx, self._configured(ctx, config))

    def _configure(self, ctx: Context, config: AgentConfig) -> Context:
        self._enter("before_agent", ctx, config_of(config))
        return perform_config(self._me, ctx, config, self._spec.before_agent or ())

    def _configured(self, ctx: Context, config: AgentConfig) -> Context:
        self._exit("before_agent", ctx, config_of(config))
        return ctx

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        left = await self._rewrite_later("before_model", ctx, messages)
        return self._me.left(ctx, left)

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        left = await self._rewrite_later("after_model", ctx, messages)
        return self._me.left(ctx, left)

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        seen = edited(ctx, messages)
        ctx, left = await self._rewrite_later("after_agent", ctx, seen)
        ctx = ctx if left is messages else ctx.with_value(EDITED, left)
        return self._me.left(ctx, ctx)

    async def _rewrite_later(
        self, hook: str, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        ctx, messages = self._rewrite(hook, ctx, messages)
        if self._me.waits:
            await self._me.rest()
        return self._rewritten(hook, ctx, messages)

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        spec = self._spec.wrap_model or ModelWrapSpec()
        seen = {
            "messages": messages_seen(request.messages),
            "tools": names_of(request.tools),
        }
        self._enter("wrap_model", ctx, seen)
        if self._me.world.recorder.cancelled:
            await self._me.world.recorder.breathe()
        answer = await call_model(self._me, spec, ctx, request, next)
        self._exit("wrap_model", ctx, answer if isinstance(answer, Message) else None)
        return answer

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        spec = self._spec.wrap_invokable or ToolWrapSpec()
        made = self._make("wrap_invokable", spec, INVOKED, ctx, input)
        call_id = input.call_id
        self._enter("wrap_invokable", ctx, call_of(input), call_id)
        if self._me.world.recorder.cancelled:
            await self._me.world.recorder.breathe()
        result = await made.call(ctx, input, next)
        self._exit("wrap_invokable", ctx, result.result, call_id)
        return result

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        spec = self._spec.wrap_streamable or ToolWrapSpec()
        made = self._make("wrap_streamable", spec, STREAMED, ctx, input)
        call_id = input.call_id
        self._enter("wrap_streamable", ctx, call_of(input), call_id)
        if self._me.world.recorder.cancelled:
            await self._me.world.recorder.breathe()
        result = await made.call(ctx, input, next)
        self._exit("wrap_streamable", ctx, None, call_id)
        return result

    def _make(
        self,
        at: str,
        spec: ToolWrapSpec,
        kind: ToolKind[R],
        ctx: Context,
        value: ToolCallInput,
    ) -> Made[R]:
        """Make the wrapper for this call, as a handler's factory would."""
        own = spec.by_tool.get(value.name)
        for each in (spec,) if own is None else (spec, own):
            if each.record_factory:
                seen = {"tool": value.name, "call": value.call_id}
                shown = {**seen, "ctx": ctx.get("h", UNSET)}
                self._me.note(at, shown, value.call_id)
        if own is not None:
            _made(self._me, own, kind, middleware=False)
        return _made(self._me, spec, kind, middleware=False)

    def _rewrite(
        self,
        hook: str,
        ctx: Context,
        messages: Sequence[Message],
    ) -> tuple[Context, Sequence[Message]]:
        self._enter(hook, ctx, messages_seen(messages))
        todo: Sequence[MessageOp] | None = getattr(self._spec, hook)
        return perform_messages(self._me, hook, ctx, messages, todo or ())

    def _rewritten(
        self, hook: str, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        self._exit(hook, ctx, messages)
        return ctx, messages

    def _enter(
        self, hook: str, ctx: Context, seen: object, call_id: str | None = None
    ) -> None:
        self._hook(hook).enter(self._me, ctx, seen, call_id)

    def _exit(
        self, hook: str, ctx: Context, value: object, call_id: str | None = None
    ) -> None:
        self._hook(hook).exit(self._me, ctx, value, call_id)

    def _hook(self, hook: str) -> Named:
        found = self._named.get(hook)
        if found is None:
            found = self._named[hook] = Named(self.name, self._position, hook)
        return found


class PlainWorldHandler(WorldHandler):
    """The same with plain functions for the hooks that may be plain."""

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:  # type: ignore[override]  # either is a hook
        return self._configured(self._configure(ctx, config), config)

    def before_model_rewrite_history(  # type: ignore[override]  # as before_agent
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return self._rewrite_now("before_model", ctx, messages)

    def after_model_rewrite_history(  # type: ignore[override]  # as before_agent
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return self._rewrite_now("after_model", ctx, messages)

    def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:  # type: ignore[override]  # as before_agent
        ctx, left = self._rewrite_now("after_agent", ctx, edited(ctx, messages))
        return ctx if left is messages else ctx.with_value(EDITED, left)

    def _rewrite_now(
        self, hook: str, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return self._rewritten(hook, *self._rewrite(hook, ctx, messages))


def edited(ctx: Context, messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages as an after_agent hook before this one left them.

    The hook gives back a context only; what one edits the next one finds there.
    """
    return cast("Sequence[Message]", ctx.get(EDITED, messages))


def handler_of(spec: HandlerSpec, position: int, world: Surroundings) -> WorldHandler:
    """Return the handler that a spec describes."""
    kind = PlainWorldHandler if spec.plain else WorldHandler
    return kind(spec, position, world)


def middleware_of(
    spec: MiddlewareSpec, position: int, world: Surroundings
) -> AgentMiddleware:
    """Return the struct middleware that a spec describes."""
    me = Extension(world, spec.id, spec.in_place)
    wraps = spec.wrap_tool_call
    named = partial(Named, me.label or f"middleware-{position}", position)
    before, after = "before_chat_model", "after_chat_model"
    invoked, streamed = "wrap_tool_call.invokable", "wrap_tool_call.streamable"
    return AgentMiddleware(
        spec.additional_instruction,
        [world.tool(tool) for tool in spec.additional_tools],
        _state_hook(me, named(before), spec.before_chat_model, waits=spec.awaits)
        if spec.before_chat_model
        else None,
        _state_hook(me, named(after), spec.after_chat_model, waits=spec.awaits)
        if spec.after_chat_model
        else None,
        ToolMiddleware(
            _factory(me, named(invoked), wraps.invokable, INVOKED)
            if wraps.invokable
            else None,
            _factory(me, named(streamed), wraps.streamable, STREAMED)
            if wraps.streamable
            else None,
        ),
    )


def tool_middleware_of(
    spec: ToolWrapSpec, position: int, world: Surroundings
) -> ToolMiddleware:
    """Return the entry of ``tool_call_middlewares`` that a spec describes."""
    me = Extension(world, spec.id)
    who = me.label or f"tool-middleware-{position}"
    invoked = Named(who, position, "tool_call_middlewares.invokable")
    streamed = Named(who, position, "tool_call_middlewares.streamable")
    return ToolMiddleware(
        _factory(me, invoked, spec, INVOKED), _factory(me, streamed, spec, STREAMED)
    )


def _state_hook(
    me: Extension, named: Named, todo: Sequence[MessageOp], *, waits: bool
) -> Callable[[Context, ChatModelAgentState], Awaitable[None] | None]:
    def begin(ctx: Context, state: ChatModelAgentState) -> None:
        seen = tuple(state.messages)
        named.enter(me, ctx, seen, state=me.world.state_number(state))
        _, messages = perform_messages(me, named.hook, ctx, seen, todo)
        if me.in_place:
            state.messages[:] = messages
        else:
            state.messages = list(messages)

    def act(ctx: Context, state: ChatModelAgentState) -> None:
        begin(ctx, state)
        named.exit(me, ctx, tuple(state.messages))

    async def act_later(ctx: Context, state: ChatModelAgentState) -> None:
        begin(ctx, state)
        if me.waits:
            await me.rest()
        named.exit(me, ctx, tuple(state.messages))

    return act_later if waits else act


def _factory(
    me: Extension, named: Named, spec: ToolWrapSpec, kind: ToolKind[R]
) -> Callable[[_Endpoint[R]], _Endpoint[R]]:
    """Return a factory of endpoints, which counts how often it is called."""

    def make(inner: _Endpoint[R]) -> _Endpoint[R]:
        made = _made(me, spec, kind, middleware=True)

        async def outer(ctx: Context, value: ToolCallInput) -> R:
            call_id = value.call_id
            named.enter(me, ctx, call_of(value), call_id)
            if me.world.recorder.cancelled:
                await me.world.recorder.breathe()
            result = await made.call(ctx, value, inner)
            left = result.result if isinstance(result, ToolCallResult) else None
            named.exit(me, ctx, left, call_id)
            return result

        return outer

    return make


def call_of(value: ToolCallInput) -> dict[str, object]:
    """Return a tool call as a wrapper is given it, for the trace."""
    return {"tool": value.name, "arguments": value.arguments}


def names_of(tools: Iterable[ToolInfo]) -> list[str]:
    """Return the names of the tools in a request."""
    return [info.name for info in tools]


def _made(
    me: Extension, spec: ToolWrapSpec, kind: ToolKind[R], *, middleware: bool
) -> Made[R]:
    if spec.count_factory:
        me.world.factory_calls += 1
    if spec.factory_error is not None:
        raise FactoryError(spec.factory_error)
    return Made(
        me,
        spec,
        "tool_middleware" if middleware else "tool_wrapper",
        kind.mode,
        kind,
    )
