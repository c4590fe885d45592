"""Forgets all but the last turns: before each model call."""

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from refengine.testing import World

TURNS: Final = 3
"""So many messages of the user are kept, with what follows each."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Forget()]
    )


class Forget(AgentMiddleware[AgentState[Any]]):
    """Keeps the last turns."""

    def before_model(
        self,
        state: AgentState[Any],
        runtime: Runtime,  # noqa: ARG002  # as AgentMiddleware
    ) -> dict[str, Any]:
        """Put the last turns in the place of all."""
        kept = shown(state["messages"])
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}


def shown(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Return the last turns."""
    said = [at for at, each in enumerate(messages) if isinstance(each, HumanMessage)]
    return messages[said[-TURNS] :] if len(said) > TURNS else messages
