"""Puts a summary in the place of a long history's older part: a decorated hook."""
# langgraph.graph says that it is typed.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, before_model
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    get_buffer_string,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from refengine.testing import World

LIMIT: Final = 7
"""A history of more messages is summarised."""
KEEP: Final = 3
"""So many messages at its end stay as they are."""
PROMPT: Final = "Summarise the conversation:\n{messages}"
SUMMARY: Final = "Here is a summary of the conversation to date:\n\n{}"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @before_model
    def summarize(
        state: AgentState[Any],
        runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
    ) -> dict[str, Any]:
        messages = list(state["messages"])
        end = end_of_older(messages)
        if end == 0:
            return {"messages": []}
        told = get_buffer_string(messages[:end], format="xml")
        answer = lc.model.invoke(PROMPT.format(messages=told))
        summary = HumanMessage(SUMMARY.format(answer.text.strip()))
        left = [summary, *messages[end:]]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *left]}

    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[summarize]
    )


def end_of_older(messages: Sequence[BaseMessage]) -> int:
    """Return where the part to summarise ends: no call is cut off from its results."""
    if len(messages) <= LIMIT:
        return 0
    end = after = len(messages) - KEEP
    results: set[str] = set()
    while after < len(messages) and isinstance(each := messages[after], ToolMessage):
        results.add(each.tool_call_id)
        after += 1
    for at in range(end - 1, -1, -1) if results else ():
        each = messages[at]
        if isinstance(each, AIMessage) and results & {c["id"] for c in each.tool_calls}:
            return at
    return after
