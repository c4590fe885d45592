"""Wrong: the model's answer is replaced by one without the calls that were refused.

The model does not see any more what it wanted to do. Not seen as long as the person
approves.
"""

from __future__ import annotations

from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.interrupt import ActionRequest, HumanInterrupt
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from refengine.testing import World

DANGEROUS: Final = ("delete_file", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[Review()],
        checkpointer=InMemorySaver(),
    )


class Review(AgentMiddleware[AgentState[Any]]):
    """Interrupts with the dangerous calls, and answers those that are refused."""

    def after_model(
        self,
        state: AgentState[Any],
        runtime: Runtime,  # noqa: ARG002  # as AgentMiddleware
    ) -> dict[str, Any] | None:
        """Ask for all calls of one answer at once."""
        last = state["messages"][-1]
        if not isinstance(last, AIMessage):
            return None
        calls = last.tool_calls
        asked = [call for call in calls if call["name"] in DANGEROUS]
        if not asked:
            return None
        answers = interrupt([request(call["name"], call["args"]) for call in asked])
        refused = [
            ToolMessage(
                f"User rejected the tool call for `{call['name']}` with reason:"
                f" {answer['args']}",
                name=call["name"],
                tool_call_id=call["id"],
                status="error",
            )
            for call, answer in zip(asked, answers, strict=True)
            if answer["type"] == "response"
        ]
        done = {message.tool_call_id for message in refused}
        kept = [call for call in last.tool_calls if call["id"] not in done]
        return {"messages": [last.model_copy(update={"tool_calls": kept})]}


def request(name: str, args: dict[str, Any]) -> HumanInterrupt:
    """Return what the person is shown."""
    return {
        "action_request": ActionRequest(action=name, args=args),
        "config": {
            "allow_accept": True,
            "allow_respond": True,
            "allow_edit": False,
            "allow_ignore": False,
        },
        "description": "Please review the tool call",
    }


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
