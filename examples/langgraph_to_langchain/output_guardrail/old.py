"""Withholds what must not be said, then logs what was: two steps of one hook."""

from __future__ import annotations

import re
from typing import Any, Final

from langchain_core.messages import AIMessage
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

from refengine.testing import World

SECRET: Final = re.compile(r"sk-[a-z0-9]{4,}")
WITHHELD: Final = "[withheld]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def log(answer: AIMessage) -> None:
        world.effect("said", {"text": answer.text})

    def after(state: AgentState) -> dict[str, Any]:
        answer = state["messages"][-1]
        if not isinstance(answer, AIMessage):
            return {}
        safe = withhold(answer)
        log(safe)
        return {"messages": [safe]}

    return create_react_agent(
        lc.model, lc.tools, prompt=lc.system_prompt, post_model_hook=after
    )


def withhold(answer: AIMessage) -> AIMessage:
    """Return what may be said, as a message that takes the place of the answer."""
    text = SECRET.sub(WITHHELD, answer.text)
    if text == answer.text:
        return answer
    return AIMessage(text, id=answer.id, tool_calls=answer.tool_calls)
