"""Answers otherwise where the model tells what is internal: behind the model."""

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from refengine.testing import World

HIDDEN: Final = "internal"
INSTEAD: Final = "I may not say that."


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Guard()]
    )


class Guard(AgentMiddleware[AgentState[Any]]):
    """Says something else."""

    def after_model(
        self,
        state: AgentState[Any],
        runtime: Runtime,  # noqa: ARG002  # as AgentMiddleware
    ) -> dict[str, Any] | None:
        """Look at what the model says."""
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or last.tool_calls:
            return None
        if HIDDEN not in last.text:
            return None
        return {"messages": [AIMessage(INSTEAD, id=last.id)]}
