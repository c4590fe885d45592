"""Wrong: what is only not to be shown is removed from the history.

The model sees the same, call by call, as long as the run lasts.
"""
# langgraph.graph says that it is typed.

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, before_model
from langchain_core.messages import RemoveMessage, trim_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from refengine.testing import World

KEEP: Final = 6
"""So many messages stay, the instruction aside."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[trim]
    )


@before_model
def trim(state: AgentState[Any], runtime: Runtime[None]) -> dict[str, Any] | None:  # noqa: ARG001  # as the decorator calls it
    """Replace the history by its end."""
    end = trim_messages(
        state["messages"],
        strategy="last",
        token_counter=len,
        max_tokens=KEEP,
        start_on="human",
    )
    if not end or len(end) == len(state["messages"]):
        return None
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *end]}
