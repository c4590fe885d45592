"""Counts the tools a thread has called, and tells the model: a key of the state."""

from __future__ import annotations

from typing import Any, Final, NotRequired

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

from refengine.testing import World

BUDGET: Final = 4
"""So many calls the model is told it has."""


class Counted(AgentState):
    """What the agent keeps, and how many calls there were."""

    calls: NotRequired[int]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def prompt(state: Counted) -> list[BaseMessage]:
        left = BUDGET - state.get("calls", 0)
        lines = [
            *([lc.system_prompt] if lc.system_prompt else []),
            f"You have {left} calls left.",
        ]
        return [SystemMessage("\n".join(lines)), *state["messages"]]

    return create_react_agent(
        lc.model,
        lc.tools,
        prompt=prompt,
        post_model_hook=count,
        state_schema=Counted,
        checkpointer=InMemorySaver(),
    )


def count(state: Counted) -> dict[str, Any]:
    """Add the calls of an answer."""
    answer = state["messages"][-1]
    made = answer.tool_calls if isinstance(answer, AIMessage) else []
    return {"calls": state.get("calls", 0) + len(made)}
