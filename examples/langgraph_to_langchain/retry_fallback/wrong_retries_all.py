"""Wrong: errors that no second try can help are tried again, too.

The built-in retries any error unless it is told which. Not seen as long as the only
errors are those of the network.
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
                max_retries=2,
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
