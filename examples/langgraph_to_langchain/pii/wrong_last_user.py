"""Wrong: the built-in with all it can look at; of what users said it is the last only.

In a conversation that begins with this run, that is all there is.
"""

from __future__ import annotations

import re
from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    redaction = PIIMiddleware(
        "email",
        detector=EMAIL.pattern,
        apply_to_output=True,
        apply_to_tool_results=True,
    )
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[redaction],
    )
