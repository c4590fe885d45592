"""Logs what the model is asked and answers, and meters it: two middlewares."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Log(world), Meter(world)],
    )


class Log(AgentMiddleware[AgentState[Any]]):
    """Logs what the model is asked, and what it answers."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def before_model(
        self,
        state: AgentState[Any],
        runtime: Runtime,  # noqa: ARG002  # as AgentMiddleware
    ) -> None:
        """Log the question."""
        self._world.effect("asked", {"messages": len(state["messages"])})

    def after_model(
        self,
        state: AgentState[Any],
        runtime: Runtime,  # noqa: ARG002  # as AgentMiddleware
    ) -> None:
        """Log the answer."""
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        self._world.effect("answered", {"calls": [each["name"] for each in calls]})


class Meter(AgentMiddleware[AgentState[Any]]):
    """Counts answers."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def after_model(
        self,
        state: AgentState[Any],  # noqa: ARG002  # as AgentMiddleware
        runtime: Runtime,  # noqa: ARG002  # as above
    ) -> None:
        """Count one more."""
        self._world.effect("metered", 1)
