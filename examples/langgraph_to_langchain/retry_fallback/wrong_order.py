"""Wrong: each try asks both models before the next one.

The first in the list is the outer one. Not seen as long as one of the first two calls
gives an answer.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware
from langchain_core.tools import tool

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[
            ModelRetryMiddleware(
                max_retries=2,
                retry_on=(TimeoutError, ConnectionError),
                on_failure="error",
                initial_delay=0.0,
                jitter=False,
            ),
            ModelFallbackMiddleware(lc.model_named("backup")),
        ],
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
