"""Counts model calls and logs how long they take: two classes."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.runtime import Runtime

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    middleware = [Log(world), Metrics(world)]  # the last one acts first after the model
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=middleware,
    )


class Log(AgentMiddleware[AgentState[Any]]):
    """Logs what the model is asked, and how long it takes to answer."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._started = 0.0

    def before_model(self, state: AgentState[Any], runtime: Runtime) -> None:  # noqa: ARG002  # as AgentMiddleware
        """Log the question."""
        self._started = self._world.now()
        self._world.effect("asked", {"messages": len(state["messages"])})

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> None:  # noqa: ARG002  # as AgentMiddleware
        """Log the answer."""
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        seconds = round(self._world.now() - self._started, 3)
        names = [call["name"] for call in calls]
        self._world.effect("answered", {"seconds": seconds, "calls": names})


class Metrics(AgentMiddleware[AgentState[Any]]):
    """Counts model calls."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> None:  # noqa: ARG002  # as AgentMiddleware
        """Count one more."""
        self._world.effect("model_calls", 1)


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
