"""A handler's hooks, called where a graph has a place for them.

What a hook raised is remembered and travels on as it is: whoever stands around it may
catch it by its class.

Hooks around the model are called one after the other, each with what the one before
left; wrappers nest, the first one outermost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import (  # pyright: ignore[reportMissingTypeStubs]  # the package says it is typed
    REMOVE_ALL_MESSAGES,
)
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from compat.engines.frame import Shown
from compat.engines.graphs.frame import (
    FRAME,
    Frame,
    passed_call,
    passing,
)
from compat.engines.graphs.values import ours, theirs
from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import settled
from refengine.chain import LayerName
from refengine.context import Context
from refengine.hooks import AnyHook, Rewritten
from refengine.messages import Message, ToolCall
from refengine.testing.blaming import FrameworkError
from refengine.tools import ToolCallInput, ToolCallResult

Execute = Callable[[ToolCallRequest], Awaitable["ToolMessage | Command[Any]"]]


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of a handler, and whose it is."""

    name: LayerName
    call: AnyHook

    @property
    def where(self) -> str:
        """What a refusal calls it."""
        return f"{self.name.hook} of handler {self.name.owner!r}"


async def act_before_agent(
    hook: Hook, config: ChatModelAgentConfig, messages: Sequence[AnyMessage]
) -> None:
    """Show a handler the configuration; refuses what it edits there."""
    frame = FRAME.get()
    shown = Shown(config, (ours(frame, messages), frame.options))
    ctx = await _entered(frame, hook, Context(), shown.config)
    frame.unchanged(ctx, hook.where)
    shown.as_given(frame, hook.where)


async def rewritten(
    hook: Hook, frame: Frame, messages: Sequence[Message]
) -> Sequence[Message]:
    """Return the history that a hook leaves."""
    given = frame.context(), messages
    ctx, left = cast("Rewritten", await _entered(frame, hook, *given))
    frame.unchanged(ctx, hook.where)
    return left


async def act_after_agent(hook: Hook, messages: Sequence[AnyMessage]) -> None:
    """Show a handler the history of a run that succeeded."""
    frame = FRAME.get()
    ctx = await _entered(frame, hook, frame.context(), ours(frame, messages))
    frame.unchanged(ctx, hook.where)


async def wrapped_tool_call(
    hook: Hook, request: ToolCallRequest, execute: Execute
) -> ToolMessage | Command[Any]:
    """Let a handler wrap a tool call."""
    frame = FRAME.get()
    call = passed_call(frame, request.tool_call)
    inner = _Inner(frame, hook, request, execute, call)
    value = ToolCallInput(call.name, call.arguments, call.id, frame.options)
    try:
        result = await hook.call(frame.context(call.id), value, inner.call)
    except Exception as error:
        frame.blame_hook(error, hook.name, tool=call.name, call_id=call.id)
        raise
    if inner.answer is None:
        return ToolMessage(result.result, tool_call_id=call.id, name=call.name)
    return inner.answer.model_copy(update={"content": result.result})


class _Inner:
    """The rest of a tool call, as a wrapper of ours calls it."""

    def __init__(
        self,
        frame: Frame,
        hook: Hook,
        request: ToolCallRequest,
        execute: Execute,
        call: ToolCall,
    ) -> None:
        self.answer: ToolMessage | None = None
        self._frame = frame
        self._hook = hook
        self._request = request
        self._execute = execute
        self._call = call

    async def call(self, ctx: Context, value: ToolCallInput) -> ToolCallResult:
        """Run it with what the wrapper made of the call."""
        self._frame.unchanged(ctx, self._hook.where)
        passed = ToolCall(value.call_id, value.name, value.arguments)
        request, self.answer = self._request, None
        if passed != self._call:
            changed: Any = {
                **request.tool_call,
                "name": passed.name,
                "args": self._frame.parsed(passed),
                "id": passed.id,
            }
            request = request.override(tool_call=changed)
        with passing(self._frame, request.tool_call, passed.arguments):
            answer = await self._frame.framework_may_raise(self._execute(request))
        if not isinstance(answer, ToolMessage):
            raise FrameworkError(TypeError(f"{answer!r} is not a result of a tool"))
        self.answer = answer
        return ToolCallResult(str(answer.text))


async def _entered(frame: Frame, hook: Hook, *given: Any) -> Any:  # noqa: ANN401  # any hook
    try:
        return await settled(hook.call(*given))
    except Exception as error:
        frame.blame_hook(error, hook.name)
        raise


Node = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
ToolWrapper = Callable[
    [ToolCallRequest, Execute], Awaitable["ToolMessage | Command[Any]"]
]


def before_node(hooks: Sequence[Hook], *, keeps_edits: bool) -> Node | None:
    """Return the one hook before the model; None if nobody wants it."""
    if not hooks:
        return None

    async def pre_model_hook(state: dict[str, Any]) -> dict[str, Any]:
        frame = FRAME.get()
        _, left = await _through(hooks, frame, state)
        if keeps_edits:
            return replacing(frame, left)
        return {"llm_input_messages": theirs(frame, left)}

    return pre_model_hook


def after_node(hooks: Sequence[Hook]) -> Node | None:
    """Return the one hook after the model; None if nobody wants it."""
    if not hooks:
        return None

    async def post_model_hook(state: dict[str, Any]) -> dict[str, Any]:
        frame = FRAME.get()
        messages, left = await _through(hooks, frame, state)
        return {} if left == messages else replacing(frame, left)

    return post_model_hook


def tool_wrapper(hooks: Sequence[Hook]) -> ToolWrapper | None:
    """Return the one wrapper around tool calls; None if nobody wants it."""
    made: ToolWrapper | None = None
    for hook in reversed(hooks):
        made = _around(hook, made)
    return made


def replacing(frame: Frame, messages: Sequence[Message]) -> dict[str, Any]:
    """Return the update that puts these messages in the place of all there were."""
    made: list[AnyMessage | RemoveMessage] = [RemoveMessage(id=REMOVE_ALL_MESSAGES)]
    return {"messages": [*made, *theirs(frame, messages)]}


async def _through(
    hooks: Sequence[Hook], frame: Frame, state: Mapping[str, Any]
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the history of the state, and what the hooks made of it."""
    messages = ours(frame, state["messages"])
    left: Sequence[Message] = messages
    for hook in hooks:
        left = await rewritten(hook, frame, left)
    return messages, tuple(left)


def _around(hook: Hook, inner: ToolWrapper | None) -> ToolWrapper:
    async def wrap(
        request: ToolCallRequest, execute: Execute
    ) -> ToolMessage | Command[Any]:
        async def rest(passed: ToolCallRequest) -> ToolMessage | Command[Any]:
            return await (execute(passed) if inner is None else inner(passed, execute))

        return await wrapped_tool_call(hook, request, rest)

    return wrap
