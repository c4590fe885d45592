"""Wrong: without a checkpointer nothing can be resumed, so asking is an error.

Not seen as long as no dangerous tool is called.
"""

from __future__ import annotations

from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain_core.tools import tool

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
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
