"""Counts model calls and logs how long they take: a hook before and one after."""
# What is ported is deprecated, and its types are partial.

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    started: list[float] = []

    def before(state: AgentState) -> dict[str, Any]:
        started.append(world.now())
        world.effect("asked", {"messages": len(state["messages"])})
        return {"llm_input_messages": state["messages"]}

    def after(state: AgentState) -> dict[str, Any]:
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        world.effect("model_calls", 1)
        seconds = round(world.now() - started[-1], 3)
        names = [call["name"] for call in calls]
        world.effect("answered", {"seconds": seconds, "calls": names})
        return {"messages": []}

    return create_react_agent(
        lc.model,
        [*lc.tools, list_files],
        prompt=lc.system_prompt,
        pre_model_hook=before,
        post_model_hook=after,
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
