"""Keeps tools that write from who may only read: a model callable and a post hook."""
# What is ported is deprecated, and its types are partial.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.runtime import Runtime, get_runtime

from refengine.testing import World

WRITES: Final = frozenset(("delete_file", "send_mail"))


@dataclass(frozen=True)
class Caller:
    """Who is asking."""

    read_only: bool = False


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    tools = {each.name: each for each in [*lc.tools, list_files]}

    def pick_model(
        _: AgentState, runtime: Runtime[Caller]
    ) -> Runnable[LanguageModelInput, AIMessage]:
        shown = [each for name, each in tools.items() if allowed(runtime, name)]
        return lc.model.bind_tools(shown)

    return create_react_agent(
        pick_model,
        list(tools.values()),
        prompt=lc.system_prompt,
        post_model_hook=refuse,
        context_schema=Caller,
    )


def refuse(state: AgentState) -> dict[str, Any]:
    """Answer the calls of tools that the model was not shown."""
    runtime = get_runtime(Caller)
    last = state["messages"][-1]
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    return {
        "messages": [
            ToolMessage(
                f"{call['name']} is not for you.",
                name=call["name"],
                tool_call_id=call["id"],
                status="error",
            )
            for call in calls
            if not allowed(runtime, call["name"])
        ]
    }


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"


def allowed(runtime: Runtime[Caller], name: str) -> bool:
    """Tell whether the caller may use a tool."""
    return not (runtime.context.read_only and name in WRITES)
