"""The scripted model and the tool that LangChain and LangGraph are measured with.

Imports both frameworks: it is imported by the peers when they are asked for variants.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool

from benchmarks.peers.peer import ANSWER, CALL_ID, QUESTION, TOOL, TOOL_TEXT, PeerCounts


def asks() -> AIMessage:
    """Return the model's first answer: the call of the tool."""
    call = {"name": TOOL, "args": {"text": TOOL_TEXT}, "id": CALL_ID}
    return AIMessage("", tool_calls=[call])


class ScriptedChatModel(BaseChatModel):
    """Gives premade results in turn, over and over."""

    following: Callable[[], ChatResult]
    seen: PeerCounts | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:  # noqa: ANN401  # unused
        """Return itself: it does not look at its tools."""
        del tools, kwargs
        return self

    def _generate(self, *given: Any, **named: Any) -> ChatResult:  # noqa: ANN401  # unused
        del given, named
        if self.seen is not None:
            self.seen.model += 1
        return self.following()

    async def _agenerate(self, *given: Any, **named: Any) -> ChatResult:  # noqa: ANN401  # unused
        return self._generate(*given, **named)


def scripted_model(seen: PeerCounts | None) -> ScriptedChatModel:
    """Return a model that asks for the tool, answers, and begins again."""
    messages = (asks(), AIMessage(ANSWER))
    results = [ChatResult(generations=[ChatGeneration(message=m)]) for m in messages]
    return ScriptedChatModel(following=cycle(results).__next__, seen=seen)


def echo_tool(seen: PeerCounts | None) -> BaseTool:
    """Return the tool, for sync and async runs: neither goes through a thread."""

    def echo(text: str) -> str:
        if seen is not None:
            seen.tool += 1
        return text

    async def aecho(text: str) -> str:
        return echo(text)

    about = "Says what it is told."
    return StructuredTool.from_function(echo, aecho, name=TOOL, description=about)


def question() -> dict[str, Any]:
    """Return what a graph is called with."""
    return {"messages": [("user", QUESTION)]}


def answer_of(state: Any) -> str:  # noqa: ANN401  # what a graph returns
    """Return the text that a graph ended with."""
    last: BaseMessage = state["messages"][-1]
    return str(last.content)
