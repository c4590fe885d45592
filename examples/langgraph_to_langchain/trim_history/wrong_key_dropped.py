"""Wrong: the hook is taken over as it is, and nobody reads the key that it returns.

A key that no schema names is dropped without a word: the model sees all there is, which
is the same while histories are short.
"""

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, before_model
from langchain_core.messages import trim_messages
from langgraph.runtime import Runtime

from refengine.testing import World

KEEP: Final = 6
"""So many messages are shown, the instruction aside."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[trim]
    )


@before_model
def trim(state: AgentState[Any], runtime: Runtime[None]) -> dict[str, Any]:  # noqa: ARG001  # as the decorator calls it
    """Hand the model the last messages, from one of the user on; all are kept."""
    shown = trim_messages(
        state["messages"],
        strategy="last",
        token_counter=len,
        max_tokens=KEEP,
        start_on="human",
    )
    return {"llm_input_messages": shown}
