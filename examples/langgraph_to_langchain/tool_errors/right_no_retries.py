"""Tells the model of some errors of tools: the built-in for retries, without any."""

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
                max_retries=0,
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
