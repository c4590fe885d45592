"""Keeps e-mail addresses from the model and out of the history: two hooks."""

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
    ) -> dict[str, Any]:
        """Redact what came since the last model call."""
        return redact(state["messages"])

    def after_model(
        self,
        state: AgentState[Any],
        runtime: Runtime[None],  # noqa: ARG002  # as AgentMiddleware
    ) -> dict[str, Any]:
        """Redact what the model said."""
        return redact(state["messages"][-1:])


def redact(messages: list[AnyMessage]) -> dict[str, Any]:
    """Put a redacted message in the place of each that holds an address."""
    return {
        "messages": [redacted(each) for each in messages if EMAIL.search(each.text)]
    }


def redacted(message: AnyMessage) -> AnyMessage:
    """Return a message without addresses, under the same id."""
    return message.model_copy(update={"content": EMAIL.sub(REDACTED, message.text)})
