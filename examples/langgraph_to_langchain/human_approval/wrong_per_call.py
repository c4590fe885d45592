"""Wrong: calls beside a dangerous one run before the person is asked about it.

In this mode each call asks when its turn has come. Not seen as long as the model makes
one call at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from refengine.testing import World

DANGEROUS: Final = ("delete_file", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def decide(asked: Mapping[str, Any]) -> dict[str, str]:
        if lc.approves({**asked, "id": asked["tool_call_id"]}):
            return {"type": "approve"}
        return {"type": "reject", "message": "denied"}

    lc.answer_interrupts(decide)
    review = InterruptOnConfig(allowed_decisions=["approve", "reject"])
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[
            HumanInTheLoopMiddleware(
                dict.fromkeys(DANGEROUS, review), interrupt_mode="per_call"
            )
        ],
        checkpointer=InMemorySaver(),
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
