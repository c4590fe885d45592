"""Keeps e-mail addresses from the model and out of the history: with the built-in.

It looks at answers and at tool results only if it is told to, and of what users say at
the last message only. What is older comes with the input of a run, so a hook of our own
redacts that, once.
"""

from __future__ import annotations

import re
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, PIIMiddleware, before_agent
from langgraph.runtime import Runtime

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
REDACTED: Final = "[REDACTED_EMAIL]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    redaction = PIIMiddleware(
        "email",
        detector=EMAIL.pattern,
        apply_to_input=False,
        apply_to_output=True,
        apply_to_tool_results=True,
    )
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[redact_input, redaction],
    )


@before_agent
def redact_input(
    state: AgentState[Any],
    runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
) -> dict[str, Any]:
    """Put a redacted message in the place of each that holds an address."""
    return {
        "messages": [
            each.model_copy(update={"content": EMAIL.sub(REDACTED, each.text)})
            for each in state["messages"]
            if EMAIL.search(each.text)
        ]
    }
