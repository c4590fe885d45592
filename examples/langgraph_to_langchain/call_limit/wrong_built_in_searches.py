"""Wrong: the built-in keeps its count to itself.

A caller can neither read nor set it any more, and a turn that brings its count along
starts from none. Not seen as long as only the messages of a result are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ToolCallLimitMiddleware,
    after_model,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from refengine.testing import World

MODEL_CALLS: Final = 4
SEARCHES: Final = 2


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    # Hooks after the model run last first.
    middleware: list[AgentMiddleware[Any, None]] = [
        ToolCallLimitMiddleware(tool_name="search", thread_limit=SEARCHES),
        stop,
    ]
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )


@after_model
def stop(state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:  # noqa: ARG001  # as after_model has it
    """End the run with a word where the model called too often."""
    last = state["messages"][-1]
    if not isinstance(last, AIMessage) or not last.tool_calls:
        return None
    if answers_since_user(state["messages"]) < MODEL_CALLS:
        return None
    return {"messages": [AIMessage("I had to stop here.", id=last.id)]}


def answers_since_user(messages: Sequence[BaseMessage]) -> int:
    """Return how many answers of the model stand behind what the user said last."""
    count = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        count += isinstance(message, AIMessage)
    return count


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
