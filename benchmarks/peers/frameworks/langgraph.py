"""LangGraph: the hooks of ``create_react_agent``.

It takes one function before and one after the model and no list of them, so whoever
has several composes them: N handlers are N functions that one hook awaits in turn. The
node that the hook is costs the same with one function as with hundreds; it is in the
points, and not in the slope. Without functions there is no hook.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

from langchain_core.messages import BaseMessage
from langgraph.warnings import LangGraphDeprecatedSinceV10

from benchmarks.measure import Work
from benchmarks.peers.frameworks.graphs import (
    answer_of,
    echo_tool,
    question,
    scripted_model,
)
from benchmarks.peers.peer import (
    AFTER_MODEL,
    BEFORE_MODEL,
    Build,
    PeerCounts,
    Variant,
    counted,
)

Messages: TypeAlias = Sequence[BaseMessage]
Function: TypeAlias = Callable[[Messages], Awaitable[Messages]]
Hook: TypeAlias = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def rewriter() -> Function:
    """Return a function of its own that hands the messages back as they are."""

    async def same(messages: Messages) -> Messages:
        return messages

    return same


def before(rewriters: Sequence[Function]) -> Hook:
    """Compose functions to a hook that says what the model is shown."""

    async def hook(state: dict[str, Any]) -> dict[str, Any]:
        messages: Messages = state["messages"]
        for each in rewriters:
            messages = await each(messages)
        return {"llm_input_messages": messages}

    return hook


def after(rewriters: Sequence[Function]) -> Hook:
    """Compose functions to a hook that sees what the model said."""

    async def hook(state: dict[str, Any]) -> dict[str, Any]:
        messages: Messages = state["messages"]
        for each in rewriters:
            messages = await each(messages)
        return {}

    return hook


def building(position: str, composed: Callable[[Sequence[Function]], Hook]) -> Build:
    """Return what builds a run of the agent with one hook at that place."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        made = [counted(rewriter(), seen, "hooks") for _ in range(n)]
        call = agent_of(seen, {position: composed(made) if n else None}).ainvoke

        async def work() -> str:
            return answer_of(await call(question()))

        return work

    return build


def agent_of(seen: PeerCounts | None, hooks: dict[str, Hook | None]) -> Any:  # noqa: ANN401  # a compiled graph
    """Build the agent; that it is deprecated is why somebody migrates from it."""
    create: Any = import_module("langgraph.prebuilt").create_react_agent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
        return create(scripted_model(seen), [echo_tool(seen)], **hooks)


VARIANTS: Final = (
    Variant(
        "pre_model_hook of N functions",
        BEFORE_MODEL,
        building("pre_model_hook", before),
    ),
    Variant(
        "post_model_hook of N functions",
        AFTER_MODEL,
        building("post_model_hook", after),
    ),
)
