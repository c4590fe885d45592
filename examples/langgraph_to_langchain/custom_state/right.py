"""Counts the tools a thread has called, and tells the model: two decorated hooks."""

from __future__ import annotations

from typing import Any, Final, NotRequired, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    after_model,
    dynamic_prompt,
)
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from refengine.testing import World

BUDGET: Final = 4
"""So many calls the model is told it has."""


class Counted(AgentState[Any]):
    """What the agent keeps, and how many calls there were."""

    calls: NotRequired[int]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @dynamic_prompt
    def prompt(request: ModelRequest[None]) -> str:
        left = BUDGET - cast("Counted", request.state).get("calls", 0)
        lines = [
            *([lc.system_prompt] if lc.system_prompt else []),
            f"You have {left} calls left.",
        ]
        return "\n".join(lines)

    # Handlers of different states have no type in common but this one.
    handlers: list[AgentMiddleware[Any]] = [prompt, count]
    return create_agent(
        lc.model,
        lc.tools,
        middleware=handlers,
        checkpointer=InMemorySaver(),
    )


@after_model(state_schema=Counted)
def count(
    state: Counted,
    runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
) -> dict[str, Any]:
    """Add the calls of an answer."""
    answer = state["messages"][-1]
    made = answer.tool_calls if isinstance(answer, AIMessage) else []
    return {"calls": state.get("calls", 0) + len(made)}
