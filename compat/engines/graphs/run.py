"""One run on a compiled graph, as the harness drives runs.

The graph is pulled: it goes on when the consumer asks for the next event, or for the
next chunk of a streamed answer. What it does is read from its public stream: updates
of nodes are events, values are the state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langgraph.errors import GraphRecursionError

from compat.engines.graphs.frame import FRAME, Frame
from compat.engines.graphs.values import our_chunk, our_message, ours, theirs
from refengine.errors import MaxIterationsExceededError, StreamBrokenOffError
from refengine.events import AgentEvent, Chunk
from refengine.loop import Status
from refengine.messages import History, Message, MessageChunk
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.tools import Options

TOOLS: Final = "tools"
"""The name both frameworks give the node that runs tools."""


@dataclass(frozen=True, slots=True)
class GraphAgent:
    """A compiled graph, its model node, and how its runs are limited.

    ``steps`` is how many nodes a run may pass: a graph counts no iterations.
    ``wraps_model`` tells that a handler wraps model calls, which get no stream here.
    """

    engine: str
    name: str
    graph: Any
    model_node: str
    max_iterations: int
    steps: int
    wraps_model: bool = False

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> GraphRun:
        """Start a run; nothing happens before it is iterated."""
        return GraphRun(self, tuple(messages), options or {}, streaming=stream)


class _Open:
    """An answer that is being streamed."""

    def __init__(self) -> None:
        self.chunks: list[MessageChunk] = []
        self.ended = False
        self.failed: Exception | None = None


class GraphRun:
    """One run; ``outcome`` is set once it is over."""

    def __init__(
        self,
        agent: GraphAgent,
        messages: tuple[Message, ...],
        options: Options,
        *,
        streaming: bool,
    ) -> None:
        self.outcome: RunResult | None = None
        self._agent = agent
        self._frame = Frame(agent.engine, (agent.name,))
        self._given = messages
        self._options = options
        self._streaming = streaming
        self._items: AsyncIterator[Any] | None = None
        self._open: _Open | None = None
        self._due: deque[AgentEvent] = deque()
        self._events: list[AgentEvent] = []
        self._state: Sequence[BaseMessage] = ()
        self._answers = 0
        self._between = True
        self._over = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        if self._items is not None:
            async with aclosing(cast("Any", self._items)):
                pass
        if self.outcome is None:
            self._end("cancelled")

    def __aiter__(self) -> GraphRun:
        return self

    async def __anext__(self) -> AgentEvent:
        while not self._due:
            if self._over:
                raise StopAsyncIteration
            await self._advance()
        event = self._due.popleft()
        self._events.append(event)
        return event

    async def _advance(self) -> None:
        """Let the graph go on until it tells the next thing."""
        token = FRAME.set(self._frame)
        try:
            if self._items is None:
                self._items = self._started()
            self._take(*await anext(self._items))
            self._frame.stop_if_refused()
        except StopAsyncIteration:
            self._finish()
        except Exception as error:  # noqa: BLE001  # becomes the run's last event
            self._fail(error)
        finally:
            FRAME.reset(token)

    def _started(self) -> AsyncIterator[Any]:
        frame = self._frame
        if self._options:
            frame.refuse("run_options", "a run with options")
        if self._streaming and self._agent.wraps_model:
            frame.refuse("streamed_model_wraps", "a streaming run")
        modes = ["updates", "values", *(["messages"] if self._streaming else [])]
        given = {"messages": theirs(frame, self._given)}
        limit = {"recursion_limit": self._agent.steps}
        found = self._agent.graph.astream(given, limit, stream_mode=modes)
        return cast("AsyncIterator[Any]", found)

    def _take(self, mode: str, item: Any) -> None:  # noqa: ANN401  # what the graph tells
        if mode == "values":
            self._state = item["messages"]
        elif mode == "messages":
            self._take_chunk(*item)
        else:
            for node, update in item.items():
                self._take_update(node, update)

    def _take_chunk(self, chunk: object, about: Mapping[str, Any]) -> None:
        if not isinstance(chunk, AIMessageChunk):
            return  # a whole message, which comes as an update, too
        if about.get("langgraph_node") != self._agent.model_node:
            return
        if self._open is None:
            self._open = _Open()
            reader = cast("StreamReader[Chunk]", StreamReader(self._read(self._open)))
            path = self._frame.run_path
            self._due.append(AgentEvent("model", path, stream=reader))
        piece = our_chunk(chunk)
        if piece.content or piece.tool_calls or not self._open.chunks:
            self._open.chunks.append(piece)

    def _take_update(self, node: str, update: Any) -> None:  # noqa: ANN401  # any node's
        for message in _messages_of(update):
            if node == self._agent.model_node and isinstance(message, AIMessage):
                self._answers += 1
                self._between = False
                if self._open is None:
                    self._tell("model", message, None)
                else:
                    self._open.ended, self._open = True, None
            elif node == TOOLS and isinstance(message, ToolMessage):
                self._between = True
                self._tell("tool", message, message.tool_call_id)

    def _tell(self, kind: Any, message: BaseMessage, call_id: str | None) -> None:  # noqa: ANN401  # a literal
        reported = our_message(self._frame, message)
        self._due.append(AgentEvent(kind, self._frame.run_path, reported, call_id))

    async def _read(self, answer: _Open) -> AsyncIterator[MessageChunk]:
        at = 0
        while True:
            while at < len(answer.chunks):
                yield answer.chunks[at]
                at += 1
            if answer.ended:
                break
            if self._over:
                raise StreamBrokenOffError
            await self._advance()
        if answer.failed is not None:
            raise answer.failed

    def _finish(self) -> None:
        last = self._state[-1] if self._state else None
        direct = self._between and self._answers > 0
        answer = None if last is None else our_message(self._frame, last)
        self._end("returned_directly" if direct else "completed", answer)

    def _fail(self, error: Exception) -> None:
        if self._open is not None:
            self._open.ended, self._open.failed = True, error
            self._open = None
        reported: Exception
        if isinstance(error, GraphRecursionError):
            self._between = False
            reported = MaxIterationsExceededError(self._agent.max_iterations)
            reported.__cause__ = error
        else:
            reported = self._frame.leaving(error)
        event = AgentEvent("error", self._frame.run_path, error=reported)
        self._due.append(event)
        self._end("error", more=(event,))

    def _end(
        self,
        status: Status,
        answer: Message | None = None,
        more: tuple[AgentEvent, ...] = (),
    ) -> None:
        self._over = True
        history = History(ours(self._frame, self._state) or self._given)
        failed_early = status == "error" and self._between
        self.outcome = RunResult(
            status,
            history if self._state else History(),
            answer,
            (*self._events, *more),
            self._answers + failed_early,
        )


def _messages_of(update: Any) -> Iterator[BaseMessage]:  # noqa: ANN401  # any node's
    """Yield the messages of a node's update, which may be one of several."""
    several = isinstance(update, list)
    for each in cast("list[Any]", update) if several else [update]:
        if isinstance(each, Mapping):
            messages = cast("Mapping[str, Any]", each).get("messages", ())
            yield from messages
