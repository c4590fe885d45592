"""Our handlers as middlewares of LangChain: a class for just the hooks of each.

``create_agent`` looks at the class to see which hooks there are, so each is made with
the methods it needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest as TheirRequest
from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import (
    AIMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from compat.engines.graphs.frame import FRAME, Frame
from compat.engines.graphs.hooks import (
    Execute,
    Hook,
    act_after_agent,
    act_before_agent,
    replacing,
    rewritten,
    wrapped_tool_call,
)
from compat.engines.graphs.values import (
    DoorTool,
    infos,
    our_message,
    ours,
    their_message,
    theirs,
)
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.messages import Message
from refengine.model import ModelRequest

State = Mapping[str, Any]
Update = dict[str, Any] | None
ModelHandler = Callable[[Any], Awaitable["ModelResponse[Any]"]]


class _Named(AgentMiddleware[Any, Any, Any]):
    """What all have: a name, hooks, and tools they bring."""

    def __init__(
        self,
        name: str,
        hooks: Mapping[str, Hook],
        config: ChatModelAgentConfig,
        tools: Sequence[DoorTool] = (),
    ) -> None:
        super().__init__()
        self._name = name
        self.hooks = hooks
        self.config = config
        self.tools = list(tools)

    @property
    def name(self) -> str:
        return self._name


# The framework passes state and runtime by name.


async def _before_agent(self: _Named, state: State, runtime: object) -> None:  # noqa: ARG001  # as above
    await act_before_agent(self.hooks["before_agent"], self.config, state["messages"])


async def _before_model(self: _Named, state: State, runtime: object) -> Update:  # noqa: ARG001  # as above
    return await rewrite(self.hooks["before_model_rewrite_history"], state)


async def _after_model(self: _Named, state: State, runtime: object) -> Update:  # noqa: ARG001  # as above
    return await rewrite(self.hooks["after_model_rewrite_history"], state)


async def _after_agent(self: _Named, state: State, runtime: object) -> None:  # noqa: ARG001  # as above
    await act_after_agent(self.hooks["after_agent"], state["messages"])


async def _wrap_model(
    self: _Named, request: TheirRequest[Any], handler: ModelHandler
) -> AIMessage:
    return await _wrapped_model_call(self.hooks["wrap_model_call"], request, handler)


async def _wrap_tool(
    self: _Named, request: ToolCallRequest, handler: Execute
) -> ToolMessage | Command[Any]:
    hook = self.hooks["wrap_invokable_tool_call"]
    return await wrapped_tool_call(hook, request, handler)


_METHODS: Final = {
    "before_agent": ("abefore_agent", _before_agent),
    "before_model_rewrite_history": ("abefore_model", _before_model),
    "after_model_rewrite_history": ("aafter_model", _after_model),
    "after_agent": ("aafter_agent", _after_agent),
    "wrap_model_call": ("awrap_model_call", _wrap_model),
    "wrap_invokable_tool_call": ("awrap_tool_call", _wrap_tool),
}


def middleware_of(
    name: str,
    hooks: Mapping[str, Hook],
    config: ChatModelAgentConfig,
    tools: Sequence[DoorTool] = (),
) -> AgentMiddleware[Any, Any, Any]:
    """Return a middleware with these hooks and no other."""
    made: Any = type("Handler", (_Named,), dict(_METHODS[hook] for hook in hooks))
    middleware: AgentMiddleware[Any, Any, Any] = made(name, hooks, config, tools)
    return middleware


async def rewrite(hook: Hook, state: State) -> Update:
    """Let a hook rewrite the history; return the update of the state, if any."""
    frame = FRAME.get()
    messages = ours(frame, state["messages"])
    left = tuple(await rewritten(hook, frame, messages))
    return None if left == messages else replacing(frame, left)


async def _wrapped_model_call(
    hook: Hook, request: TheirRequest[Any], handler: ModelHandler
) -> AIMessage:
    frame = FRAME.get()
    system = [request.system_message] if request.system_message else []
    shown = infos({"tools": request.tools})
    given = ModelRequest(
        ours(frame, [*system, *request.messages]), shown, frame.options
    )

    async def call(ctx: Context, passed: ModelRequest) -> Message:
        frame.unchanged(ctx, hook.where)
        if (tuple(passed.messages), tuple(passed.tools)) != (given.messages, shown):
            changed = _overridden(frame, hook, request, passed)
        else:
            changed = request
        response = await frame.framework_may_raise(handler(changed))
        return our_message(frame, response.result[-1])

    try:
        answer = await hook.call(frame.context(), given, call)
    except Exception as error:
        frame.blame_hook(error, hook.name)
        raise
    return cast("AIMessage", their_message(frame, answer))


def _overridden(
    frame: Frame, hook: Hook, request: TheirRequest[Any], passed: ModelRequest
) -> TheirRequest[Any]:
    """Return their request with what a wrapper of ours asks for."""
    messages = tuple(passed.messages)
    system: SystemMessage | None = None
    if request.system_message and messages and messages[0].role == "system":
        system = cast("SystemMessage", their_message(frame, messages[0]))
        messages = messages[1:]
    known = {cast("DoorTool", tool).name: tool for tool in request.tools}
    names = [info.name for info in passed.tools]
    if not known.keys() >= set(names):
        frame.refuse("edited_config", hook.where)
    return request.override(
        system_message=system,
        messages=theirs(frame, messages),
        tools=[known[name] for name in names],
    )
