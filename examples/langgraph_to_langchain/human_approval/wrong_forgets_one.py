"""Wrong: nobody is asked before mail is sent.

Not seen as long as the person approves.
"""

from __future__ import annotations

from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from refengine.testing import World

DANGEROUS: Final = ("delete_file",)


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
