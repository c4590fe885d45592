"""Refuses what must not be asked, before any model is: a hook that jumps to the end."""

from __future__ import annotations

import re
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, before_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from refengine.testing import World

BANNED: Final = re.compile(r"password|api[ _]key", re.IGNORECASE)
REFUSAL: Final = "I cannot help with secrets."


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @before_agent(can_jump_to=["end"])
    def guard(
        state: AgentState[Any],
        runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
    ) -> dict[str, Any] | None:
        last = state["messages"][-1] if state["messages"] else None
        found = isinstance(last, HumanMessage) and BANNED.search(last.text)
        world.effect("checked", {"messages": len(state["messages"])})
        if not found:
            return None
        return {"messages": [AIMessage(REFUSAL)], "jump_to": "end"}

    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[guard]
    )
