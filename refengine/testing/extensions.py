"""Extensions of a scenario as real objects: handlers and struct middlewares.

Each enters and leaves its hooks on the record (``hook_enter``, ``hook_exit``), whatever
else its operations do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from refengine.context import Context
from refengine.hooks import ModelEndpoint
from refengine.messages import Message
from refengine.middleware import AgentMiddleware, ChatModelAgentState
from refengine.model import MessageStream, ModelRequest
from refengine.plan import AgentConfig
from refengine.testing.ops import MessageOp
from refengine.testing.perform import (
    UNSET,
    Extension,
    perform_config,
    perform_messages,
)
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
    ToolMiddleware,
)

if TYPE_CHECKING:
    from refengine.testing.world import World

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


class WorldHandler:
    """A handler that does what its spec says."""

    def __init__(self, spec: HandlerSpec, position: int, world: World) -> None:
        self.name = spec.id or f"handler-{position}"
        given = {
            hook for key, hook in HOOK_OF.items() if getattr(spec, key) is not None
        }
        # A handler needs a hook; one that was given none takes part and does nothing.
        self.hooks = frozenset(given or {"before_agent"})
        self._spec = spec
        self._me = Extension(world, spec.id)
        self._position = position

    async def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        self._enter("before_agent")
        todo = self._spec.before_agent or ()
        ctx = perform_config(self._me, ctx, config, todo)
        names = [meta.name for meta in config.tools or ()]
        self._exit("before_agent", {"instruction": config.instruction, "tools": names})
        return ctx

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return self._rewrite("before_model", ctx, messages, self._spec.before_model)

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return self._rewrite("after_model", ctx, messages, self._spec.after_model)

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        # The hook gives back a context only; what one edits the next one finds there.
        seen = cast("Sequence[Message]", ctx.get(EDITED, messages))
        ctx, left = self._rewrite("after_agent", ctx, seen, self._spec.after_agent)
        return ctx if left is messages else ctx.with_value(EDITED, left)

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        spec = self._spec.wrap_model or ModelWrapSpec()
        self._enter("wrap_model")
        answer = await call_model(self._me, spec, ctx, request, next)
        self._exit("wrap_model", answer if isinstance(answer, Message) else None)
        return answer

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        spec = self._spec.wrap_invokable or ToolWrapSpec()
        made = self._make("wrap_invokable", spec, INVOKED, ctx, input)
        self._enter("wrap_invokable", input.call_id)
        call_id = input.call_id
        result = await made.call(ctx, input, next)
        self._exit("wrap_invokable", result.result, call_id)
        return result

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        spec = self._spec.wrap_streamable or ToolWrapSpec()
        made = self._make("wrap_streamable", spec, STREAMED, ctx, input)
        self._enter("wrap_streamable", input.call_id)
        call_id = input.call_id
        result = await made.call(ctx, input, next)
        self._exit("wrap_streamable", None, call_id)
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
        todo: Sequence[MessageOp] | None,
    ) -> tuple[Context, Sequence[Message]]:
        self._enter(hook)
        ctx, messages = perform_messages(self._me, hook, ctx, messages, todo or ())
        self._exit(hook, messages)
        return ctx, messages

    def _enter(self, hook: str, call_id: str | None = None) -> None:
        data = {"extension": self.name, "position": self._position, "hook": hook}
        self._me.world.recorder.add("hook_enter", data, call_id)

    def _exit(self, hook: str, value: object, call_id: str | None = None) -> None:
        data = {
            "extension": self.name,
            "position": self._position,
            "hook": hook,
            "value": value,
        }
        self._me.world.recorder.add("hook_exit", data, call_id)


def middleware_of(spec: MiddlewareSpec, position: int, world: World) -> AgentMiddleware:
    """Return the struct middleware that a spec describes."""
    me = Extension(world, spec.id)
    wraps = spec.wrap_tool_call
    return AgentMiddleware(
        spec.additional_instruction,
        [world.tool(tool) for tool in spec.additional_tools],
        _state_hook(me, position, "before_chat_model", spec.before_chat_model),
        _state_hook(me, position, "after_chat_model", spec.after_chat_model),
        ToolMiddleware(
            _factory(me, wraps.invokable, INVOKED) if wraps.invokable else None,
            _factory(me, wraps.streamable, STREAMED) if wraps.streamable else None,
        ),
    )


def tool_middleware_of(spec: ToolWrapSpec, world: World) -> ToolMiddleware:
    """Return the entry of ``tool_call_middlewares`` that a spec describes."""
    me = Extension(world, spec.id)
    return ToolMiddleware(_factory(me, spec, INVOKED), _factory(me, spec, STREAMED))


def _state_hook(
    me: Extension, position: int, hook: str, todo: Sequence[MessageOp]
) -> Callable[[Context, ChatModelAgentState], None] | None:
    if not todo:
        return None
    who = {"extension": me.label or f"middleware-{position}", "position": position}

    def act(ctx: Context, state: ChatModelAgentState) -> None:
        add = me.world.recorder.add
        add("hook_enter", {**who, "hook": hook, "state": me.world.state_number(state)})
        _, messages = perform_messages(me, hook, ctx, tuple(state.messages), todo)
        state.messages = list(messages)
        add("hook_exit", {**who, "hook": hook, "value": messages})

    return act


def _factory(
    me: Extension, spec: ToolWrapSpec, kind: ToolKind[R]
) -> Callable[[_Endpoint[R]], _Endpoint[R]]:
    """Return a factory of endpoints, which counts how often it is called."""

    def make(inner: _Endpoint[R]) -> _Endpoint[R]:
        made = _made(me, spec, kind, middleware=True)

        async def outer(ctx: Context, value: ToolCallInput) -> R:
            return await made.call(ctx, value, inner)

        return outer

    return make


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
