"""Refuses what must not be asked, before any model is: a graph around the agent."""
# langgraph.graph says that it is typed.

from __future__ import annotations

import re
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent

from refengine.testing import World

BANNED: Final = re.compile(r"password|api[ _]key", re.IGNORECASE)
REFUSAL: Final = "I cannot help with secrets."


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def guard(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1] if state["messages"] else None
        found = isinstance(last, HumanMessage) and BANNED.search(last.text)
        world.effect("checked", {"messages": len(state["messages"])})
        return {"messages": [AIMessage(REFUSAL)] if found else []}

    builder = StateGraph(MessagesState)
    builder.add_node("guard", guard)
    builder.add_node(
        "assistant", create_react_agent(lc.model, lc.tools, prompt=lc.system_prompt)
    )
    builder.add_edge(START, "guard")
    builder.add_conditional_edges("guard", after_guard)
    builder.add_edge("assistant", END)
    return builder.compile()


def after_guard(state: MessagesState) -> Literal["assistant", "__end__"]:
    """Go on to the agent, unless the guard has just answered."""
    last = state["messages"][-1] if state["messages"] else None
    refused = isinstance(last, AIMessage) and last.text == REFUSAL
    return "__end__" if refused else "assistant"
