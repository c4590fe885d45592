"""Wrong: the built-in ends the run one step later, when the tools have run.

It looks before the model is called, and adds a message of its own. Not seen as long as
the model needs fewer calls.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelCallLimitMiddleware,
    after_model,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from refengine.testing import World

MODEL_CALLS: Final = 4
SEARCHES: Final = 2


class LimitState(AgentState[Any]):
    """The state of the agent, and how often it searched."""

    searches: NotRequired[int]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    middleware: list[AgentMiddleware[Any, None]] = [
        refuse,
        ModelCallLimitMiddleware(run_limit=MODEL_CALLS),
    ]
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )


@after_model(state_schema=LimitState)
def refuse(state: LimitState, runtime: Runtime) -> dict[str, Any] | None:  # noqa: ARG001  # as after_model has it
    """Refuse the searches that are too many."""
    last = state["messages"][-1]
    if not isinstance(last, AIMessage) or not last.tool_calls:
        return None
    searches = [call for call in last.tool_calls if call["name"] == "search"]
    left = max(0, SEARCHES - state.get("searches", 0))
    refused = [
        ToolMessage(
            "Tool call limit exceeded. Do not call 'search' again.",
            name="search",
            tool_call_id=call["id"],
            status="error",
        )
        for call in searches[left:]
    ]
    done = state.get("searches", 0) + len(searches[:left])
    return {"messages": refused, "searches": done}


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
