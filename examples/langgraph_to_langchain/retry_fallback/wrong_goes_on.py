"""Wrong: when the tries are used up, an error is said as if the model had answered.

That is what the built-in does unless it is told otherwise, so the fallback is never
asked. Not seen as long as one of the tries gives an answer.
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
                retry_on=(TimeoutError, ConnectionError),
                initial_delay=0.0,
                jitter=False,
            ),
        ],
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
