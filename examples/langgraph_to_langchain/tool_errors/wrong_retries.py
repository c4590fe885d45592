"""Wrong: a tool that failed runs again before the model is told.

That is what the built-in does unless it is told otherwise. Not seen as long as a failed
call leaves nothing behind.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
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
            ToolRetryMiddleware(
                retry_on=(OSError,),
                on_failure=told,
            )
        ],
    )


def told(error: Exception) -> str:
    """Return what the model is told."""
    return f"The tool failed: {error}"


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
