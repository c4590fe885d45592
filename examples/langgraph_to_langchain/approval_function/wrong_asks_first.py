"""Wrong: the person is asked about all calls of an answer before any of them runs.

Who is asked about the second call cannot know how the first one went. Not seen as long
as the model makes one call at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.runtime import Runtime

from refengine.testing import World

DANGEROUS: Final = ("delete_file", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[Approval(lc.approves)],
    )


class Approval(AgentMiddleware[AgentState[Any]]):
    """Asks about dangerous calls as soon as the model wants them."""

    def __init__(self, approves: Callable[[Mapping[str, Any]], bool]) -> None:
        super().__init__()
        self._approves = approves

    def after_model(
        self,
        state: AgentState[Any],
        runtime: Runtime,  # noqa: ARG002  # as AgentMiddleware
    ) -> dict[str, Any]:
        """Ask, and answer the calls that are refused."""
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        return {
            "messages": [
                ToolMessage(
                    f"{call['name']} was not approved.",
                    name=call["name"],
                    tool_call_id=call["id"],
                    status="error",
                )
                for call in calls
                if call["name"] in DANGEROUS and not self._approves(call)
            ]
        }


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
