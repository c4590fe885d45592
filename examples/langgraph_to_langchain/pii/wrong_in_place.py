"""Wrong: messages are changed where they are, and they are the caller's.

What the model sees and what is kept is the same.
"""

from __future__ import annotations

import re
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
REDACTED: Final = "[REDACTED_EMAIL]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Redaction()]
    )


class Redaction(AgentMiddleware[AgentState[Any]]):
    """Redacts what the model is shown, and what it says."""

    def before_model(
        self,
        state: AgentState[Any],
        runtime: Runtime[None],  # noqa: ARG002  # as AgentMiddleware
    ) -> None:
        """Redact what came since the last model call."""
        redact(state["messages"])

    def after_model(
        self,
        state: AgentState[Any],
        runtime: Runtime[None],  # noqa: ARG002  # as AgentMiddleware
    ) -> None:
        """Redact what the model said."""
        redact(state["messages"][-1:])


def redact(messages: list[AnyMessage]) -> None:
    """Take the addresses out of all messages."""
    for each in messages:
        each.content = EMAIL.sub(REDACTED, each.text)
