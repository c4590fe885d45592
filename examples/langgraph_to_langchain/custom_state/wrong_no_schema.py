"""Wrong: no schema names the key, so what the hook returns is dropped without a word.

The count is always none, which is right until a tool is called.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentState,
    ModelRequest,
    after_model,
    dynamic_prompt,
)
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from refengine.testing import World

BUDGET: Final = 4
"""So many calls the model is told it has."""


class Counted(AgentState[Any]):
    """What the agent keeps, and how many calls there were."""

    calls: NotRequired[int]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @dynamic_prompt
    def prompt(request: ModelRequest[None]) -> str:
        left = BUDGET - cast("Counted", request.state).get("calls", 0)
        lines = [
            *([lc.system_prompt] if lc.system_prompt else []),
            f"You have {left} calls left.",
        ]
        return "\n".join(lines)

    return create_agent(
        lc.model,
        lc.tools,
        middleware=[prompt, count],
        checkpointer=InMemorySaver(),
    )


@after_model
def count(
    state: AgentState[Any],
    runtime: Runtime[None],  # noqa: ARG001  # as the decorator calls it
) -> dict[str, Any]:
    """Add the calls of an answer."""
    answer = state["messages"][-1]
    made = answer.tool_calls if isinstance(answer, AIMessage) else []
    return {"calls": cast("Counted", state).get("calls", 0) + len(made)}
