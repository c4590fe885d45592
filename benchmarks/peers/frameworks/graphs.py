"""The scripted model and the tool that LangChain and LangGraph are measured with.

Imports both frameworks: it is imported by the peers when they are asked for variants.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import cycle
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
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


class StreamedChatModel(ScriptedChatModel):
    """Gives each result in chunks, as vendors stream them."""

    cut: Callable[[AIMessage], Sequence[AIMessageChunk]]

    async def _astream(
        self,
        *given: Any,  # noqa: ANN401  # unused
        **named: Any,  # noqa: ANN401  # unused
    ) -> AsyncIterator[ChatGenerationChunk]:
        whole = self._generate(*given, **named).generations[0].message
        for each in self.cut(cast("AIMessage", whole)):
            yield ChatGenerationChunk(message=each)


def scripted_model(seen: PeerCounts | None) -> ScriptedChatModel:
    """Return a model that asks for the tool, answers, and begins again."""
    return ScriptedChatModel(following=_in_turn(), seen=seen)


def streamed_model(n: int, seen: PeerCounts | None) -> StreamedChatModel:
    """Return the same model, whose answer comes in ``n`` chunks; 1 at least."""
    rest = [AIMessageChunk(content=" ") for _ in range(n - 1)]

    def cut(whole: AIMessage) -> Sequence[AIMessageChunk]:
        if not whole.tool_calls:
            return [AIMessageChunk(content=str(whole.content)), *rest]
        arguments = json.dumps({"text": TOOL_TEXT})
        call = tool_call_chunk(name=TOOL, args=arguments, id=CALL_ID, index=0)
        return [AIMessageChunk(content="", tool_call_chunks=[call])]

    return StreamedChatModel(following=_in_turn(), seen=seen, cut=cut)


def _in_turn() -> Callable[[], ChatResult]:
    messages = (asks(), AIMessage(ANSWER))
    results = [ChatResult(generations=[ChatGeneration(message=m)]) for m in messages]
    return cycle(results).__next__


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
