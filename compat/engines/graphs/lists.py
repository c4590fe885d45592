"""A list of handlers where a framework has room for one function.

Hooks around the model are called one after the other, each with what the one before
left; wrappers nest, the first one outermost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import (  # pyright: ignore[reportMissingTypeStubs]  # the package says it is typed
    REMOVE_ALL_MESSAGES,
)
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from compat.engines.graphs.frame import FRAME, Frame
from compat.engines.graphs.hooks import Execute, Hook, rewritten, wrapped_tool_call
from compat.engines.graphs.messages import ours, theirs
from refengine.messages import Message

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
        async def rest(asked: ToolCallRequest) -> ToolMessage | Command[Any]:
            return await (execute(asked) if inner is None else inner(asked, execute))

        return await wrapped_tool_call(hook, request, rest)

    return wrap
