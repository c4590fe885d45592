"""Lets an agent ask its model three times in a run: the built-in."""

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware

from refengine.testing import World

CALLS: Final = 3


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[
            ModelCallLimitMiddleware[Any](run_limit=CALLS, exit_behavior="end")
        ],
    )
