"""Writes the instruction anew for each model call: a prompt callable."""

from __future__ import annotations

from typing import Final

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

from refengine.testing import World

LONG: Final = 5
"""From so many messages on, answers are to be short."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def prompt(state: AgentState, config: RunnableConfig) -> list[BaseMessage]:
        asking = config.get("configurable", {}).get("user_name", "a guest")
        lines = [
            *([lc.system_prompt] if lc.system_prompt else []),
            f"You speak with {asking}.",
            f"The clock says {world.now():.3f}.",
        ]
        if len(state["messages"]) >= LONG:
            lines.append("Be brief.")
        return [SystemMessage("\n".join(lines)), *state["messages"]]

    return create_react_agent(
        lc.model,
        lc.tools,
        prompt=prompt,  # pyright: ignore[reportArgumentType]  # it is given a config, too
    )
