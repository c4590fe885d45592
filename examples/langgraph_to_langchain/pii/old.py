"""Keeps e-mail addresses from the model and out of the history: one hook, twice."""

from __future__ import annotations

import re
from typing import Any, Final

from langchain_core.messages import AnyMessage
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
REDACTED: Final = "[REDACTED_EMAIL]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_react_agent(
        lc.model,
        lc.tools,
        prompt=lc.system_prompt,
        pre_model_hook=redact,
        post_model_hook=redact,
    )


def redact(state: AgentState) -> dict[str, Any]:
    """Put a redacted message in the place of each that holds an address."""
    return {
        "messages": [redacted(m) for m in state["messages"] if EMAIL.search(m.text)]
    }


def redacted(message: Any) -> AnyMessage:  # noqa: ANN401  # a message of any kind
    """Return a message without addresses, under the same id."""
    told: AnyMessage = message.model_copy(
        update={"content": EMAIL.sub(REDACTED, message.text)}
    )
    return told
