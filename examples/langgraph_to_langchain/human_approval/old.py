"""Asks a person before dangerous tools run: a post hook that interrupts."""
# What is ported is deprecated, and its types are partial.

from __future__ import annotations

from typing import Any, Final

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.prebuilt.interrupt import ActionRequest, HumanInterrupt
from langgraph.types import interrupt

from refengine.testing import World

DANGEROUS: Final = ("delete_file", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def review(state: AgentState) -> dict[str, Any]:
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        asked = [call for call in calls if call["name"] in DANGEROUS]
        if not asked:
            return {"messages": []}
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
        return {"messages": refused}

    return create_react_agent(
        lc.model,
        [*lc.tools, list_files],
        prompt=lc.system_prompt,
        post_model_hook=review,
        checkpointer=InMemorySaver(),
    )


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
