"""Wrong: the last answer is looked at, and not what is said on the way to it.

A run without tool calls has one answer.
"""

from __future__ import annotations

import re
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, after_agent, after_model
from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from refengine.testing import World

SECRET: Final = re.compile(r"sk-[a-z0-9]{4,}")
WITHHELD: Final = "[withheld]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @after_model
    def log(
        state: AgentState[Any],
        runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
    ) -> None:
        world.effect("said", {"text": state["messages"][-1].text})

    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[log, withhold]
    )


@after_agent
def withhold(
    state: AgentState[Any],
    runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
) -> dict[str, Any] | None:
    """Put what may be said in the place of the answer."""
    answer = state["messages"][-1]
    if not isinstance(answer, AIMessage) or not SECRET.search(answer.text):
        return None
    text = SECRET.sub(WITHHELD, answer.text)
    return {"messages": [AIMessage(text, id=answer.id, tool_calls=answer.tool_calls)]}
