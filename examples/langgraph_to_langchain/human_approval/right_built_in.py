"""Asks a person before dangerous tools run: the built-in."""

from __future__ import annotations

from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from refengine.testing import World

DANGEROUS: Final = ("delete_file", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    review = InterruptOnConfig(allowed_decisions=["approve", "reject"])
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[HumanInTheLoopMiddleware(dict.fromkeys(DANGEROUS, review))],
        checkpointer=InMemorySaver(),
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
