"""Wrong: the built-in as it comes, which redacts what the user says and no more.

Addresses that the model or a tool comes up with are kept and shown.
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
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[PIIMiddleware("email", detector=EMAIL.pattern)],
    )
