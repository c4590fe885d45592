"""Wrong: three tries become four.

The old option counted calls, the new one counts those after the first. Not seen as long
as one of the tries gives an answer.
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
            ModelFallbackMiddleware(lc.model_named("backup")),
            ModelRetryMiddleware(
                max_retries=3,
                retry_on=(TimeoutError, ConnectionError),
                on_failure="error",
                initial_delay=0.0,
                jitter=False,
            ),
        ],
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
