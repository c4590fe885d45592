"""Shows the model the end of a long history: a hook before the model."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.messages import trim_messages
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

from refengine.testing import World

KEEP: Final = 6
"""So many messages are shown, the instruction aside."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_react_agent(
        lc.model, lc.tools, prompt=lc.system_prompt, pre_model_hook=trim
    )


def trim(state: AgentState) -> dict[str, Any]:
    """Hand the model the last messages, from one of the user on; all are kept."""
    shown = trim_messages(
        state["messages"],
        strategy="last",
        token_counter=len,
        max_tokens=KEEP,
        start_on="human",
    )
    return {"llm_input_messages": shown}
