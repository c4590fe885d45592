"""A small observer of our own, around the parts that an engine is given.

    engine = ObservedReference()    # the reference engine, observed
    engine.play(scenario)           # its trace, and what the spans say

It begins a span for each run, and in it one for each call of the model and of a tool,
with attributes as OpenTelemetry's convention names them. Mutants edit its methods.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from compat.engines.capabilities import CAPABILITIES
from compat.engines.loading import LoadedEngine
from compat.engines.observers.playing import RECORDS, observed_by
from compat.engines.observers.spans import SeenSpan
from compat.wire.scrubbing.scrubber import Scrubber
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.model import ChatModel, invoker, streamer
from refengine.plan import OnNotice
from refengine.profile import SEED_001, Profile
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.testing.doors import Engine, EngineAgent, EngineRun, ReferenceEngine
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Trace
from refengine.tools import Options, Tool, ToolInfo, ToolMeta, as_meta

T = TypeVar("T")

NAME: Final = "observers"


@dataclass(slots=True)
class LiveSpan:
    """A span that may still be changed."""

    id: int
    parent: int | None
    attributes: dict[str, object]
    failed: bool = False
    ended: bool = False


class SmallObserver:
    """Makes the spans: a method for each step, which mutants edit."""

    def __init__(self) -> None:
        self.spans: list[LiveSpan] = []
        self.inside: LiveSpan | None = None
        """The span of the run that goes on: a world plays one after the other."""

    def forget(self) -> None:
        """Forget the spans of the world before."""
        self.spans, self.inside = [], None

    def taken(self) -> Sequence[SeenSpan]:
        """Return the spans as they stand."""
        return [
            SeenSpan(each.id, each.parent, each.attributes, each.failed, each.ended)
            for each in self.spans
        ]

    def begin(self, of: str, **attributes: str) -> LiveSpan:
        """Begin a span in that of the run, or that of a run by itself."""
        above = None if self.inside is None else self.inside.id
        span = LiveSpan(len(self.spans) + 1, above, {})
        self.spans.append(span)
        self.say(span, operation_name=of, **attributes)
        return span

    def say(self, span: LiveSpan, **attributes: str) -> None:
        """Give a span attributes, which one that ended takes no more."""
        for name, value in () if span.ended else attributes.items():
            span.attributes[f"gen_ai.{name.replace('_', '.')}"] = self.plain(value)

    def plain(self, text: str) -> str:
        """Return a text without secrets."""
        return Scrubber().text(text)

    def run(self) -> LiveSpan:
        """Begin the span of a run, in which others are begun from now on."""
        self.inside = None
        self.inside = self.begin("invoke_agent")
        return self.inside

    def model(self, messages: Sequence[Message]) -> LiveSpan:
        """Begin the span of a model call."""
        return self.begin("chat", input_messages=self.text(messages))

    def tool(self, name: str, arguments: str) -> LiveSpan:
        """Begin the span of a tool call."""
        return self.begin("execute_tool", tool_name=name, tool_call_arguments=arguments)

    def asked_by(self, span: LiveSpan, call: str | None) -> None:
        """Put down by which id the model asked for a call."""
        self.say(span, tool_call_id=call or "")

    def text(self, messages: Sequence[Message]) -> str:
        """Return messages as an attribute has them."""
        rows = [
            {"content": x.content, "calls": [call.arguments for call in x.tool_calls]}
            for x in messages
        ]
        return json.dumps(rows)

    def answered(self, span: LiveSpan, answer: Message) -> None:
        """Put down what the model answered."""
        self.say(span, output_messages=self.text([answer]))

    def returned(self, span: LiveSpan, result: str) -> None:
        """Put down what a tool gave."""
        self.say(span, tool_call_result=result)

    def fail(self, span: LiveSpan, error: BaseException) -> None:
        """Put down that a call raised."""
        span.failed |= not span.ended and isinstance(error, Exception)

    def over(self, span: LiveSpan, outcome: RunResult | None) -> None:
        """Put down that a run ended with an error, if it did."""
        if outcome is not None and outcome.status == "error":
            for each in outcome.events:
                if each.error is not None:
                    self.fail(span, each.error)

    def end(self, span: LiveSpan) -> None:
        """End a span."""
        span.ended = True

    def leave(self, span: LiveSpan) -> None:
        """End the span of a stream that was left before its end."""
        self.end(span)

    @contextmanager
    def around(self, span: LiveSpan) -> Generator[None, None, None]:
        """Have a span end with the block, however that ends."""
        try:
            with self.until_it_flows(span):
                yield
        finally:
            self.end(span)

    @contextmanager
    def until_it_flows(self, span: LiveSpan) -> Generator[None, None, None]:
        """Have a span end with the block if that raises."""
        try:
            yield
        except StopAsyncIteration:
            raise
        except BaseException as error:
            self.fail(span, error)
            self.end(span)
            raise

    def passed(self, value: T) -> T:
        """Return what goes back to the caller: what came."""
        return value

    def sent(self, value: T) -> T:
        """Return what goes on to the model or the tool: what came."""
        return value


class SpannedModel:
    """A model whose calls have spans."""

    def __init__(self, model: ChatModel, observer: SmallObserver) -> None:
        self._invoke, self._stream = invoker(model), streamer(model)
        self._observer = observer

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Return the whole answer."""
        observer = self._observer
        span = observer.model(messages)
        with observer.around(span):
            sent = observer.sent(messages)
            answer = await self._invoke(ctx, sent, tools, options)
            observer.answered(span, answer)
        return observer.passed(answer)

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> StreamReader[MessageChunk]:
        """Return the answer as a stream, whose end is that of its span."""
        observer = self._observer
        span = observer.model(messages)

        def ended(chunks: Sequence[MessageChunk]) -> None:
            observer.answered(span, join_chunks(chunks))

        with observer.until_it_flows(span):
            sent = observer.sent(messages)
            reader = await self._stream(ctx, sent, tools, options)
        return StreamReader(SpannedChunks(reader, observer, span, ended))


class SpannedTool:
    """A tool whose calls have spans; it has the methods of the tool inside it."""

    def __init__(self, tool: Tool, observer: SmallObserver) -> None:
        self.info: ToolInfo = tool.info
        self._tool: Any = tool
        self._observer = observer
        if getattr(tool, "invoke", None) is not None:
            self.invoke = self._invoke
        if getattr(tool, "stream", None) is not None:
            self.stream = self._stream

    async def _invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        observer = self._observer
        span = observer.tool(self.info.name, arguments)
        observer.asked_by(span, ctx.tool_call_id)
        with observer.around(span):
            result: str = await self._tool.invoke(
                ctx, observer.sent(arguments), options
            )
            observer.returned(span, result)
        return observer.passed(result)

    async def _stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        observer = self._observer
        span = observer.tool(self.info.name, arguments)
        observer.asked_by(span, ctx.tool_call_id)
        with observer.until_it_flows(span):
            reader: StreamReader[str] = await self._tool.stream(ctx, arguments, options)

        def ended(chunks: Sequence[str]) -> None:
            observer.returned(span, "".join(chunks))

        return StreamReader(SpannedChunks(reader, observer, span, ended))


class SpannedChunks(Generic[T]):
    """The chunks of a stream, with whose end, or closing, its span ends."""

    def __init__(
        self,
        reader: StreamReader[T],
        observer: SmallObserver,
        span: LiveSpan,
        ended: Callable[[Sequence[T]], None],
    ) -> None:
        self._reader, self._observer, self._span = reader, observer, span
        self._ended = ended
        self._chunks: list[T] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        with self._observer.until_it_flows(self._span):
            try:
                chunk = await anext(self._reader)
            except StopAsyncIteration:
                self._ended(self._chunks)
                self._observer.end(self._span)
                raise
        self._chunks.append(chunk)
        return self._observer.passed(chunk)

    async def aclose(self) -> None:
        """Close the stream; one that was left ends its span here."""
        self._observer.leave(self._span)
        await self._reader.aclose()


class SpannedRun:
    """A run with a span, in which those of its calls stand."""

    def __init__(self, run: EngineRun, observer: SmallObserver) -> None:
        self._run, self._observer = run, observer
        self._span = observer.run()

    @property
    def outcome(self) -> RunResult | None:
        """How it ended, once it has."""
        return self._run.outcome

    async def __aenter__(self) -> Self:
        await self._run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        try:
            await self._run.__aexit__(kind, error, trace)
        finally:
            self._observer.over(self._span, self.outcome)
            self._observer.end(self._span)

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return aiter(self._run)


@dataclass(frozen=True, slots=True)
class SpannedAgent:
    """An agent whose runs have spans."""

    agent: EngineAgent
    observer: SmallObserver

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Start a run."""
        more = {} if options is None else {"options": options}
        return SpannedRun(self.agent.run(messages, stream, **more), self.observer)


@dataclass(frozen=True, slots=True)
class SpannedEngine:
    """An engine whose agents are observed: what it is given is put into wrappers."""

    engine: Engine
    observer: SmallObserver

    @property
    def name(self) -> str:
        """The engine's."""
        return self.engine.name

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent, observed."""

        def observed(given: Tool | ToolMeta) -> ToolMeta:
            meta = as_meta(given)
            return replace(meta, tool=SpannedTool(meta.tool, self.observer))

        tools = [observed(each) for each in config.tools_config.tools]
        agent = await self.engine.build(
            replace(
                config,
                model=SpannedModel(config.model, self.observer),
                tools_config=replace(config.tools_config, tools=tools),
            ),
            on_notice,
        )
        return SpannedAgent(agent, self.observer)


def reference_engine(profile: Profile) -> LoadedEngine:
    """Return the reference engine under a profile, as one that was loaded."""
    every = frozenset(CAPABILITIES)
    return LoadedEngine(NAME, ReferenceEngine(profile), profile, every)


class ObservedReference:
    """The reference engine, observed by the small observer."""

    name = NAME
    version = ""
    capabilities = frozenset({*CAPABILITIES, *RECORDS})

    def __init__(self, profile: Profile = SEED_001) -> None:
        self.profile = profile
        observer, plain = SmallObserver(), reference_engine(profile)
        engine = replace(plain, engine=SpannedEngine(plain.engine, observer))
        self._player = observed_by(observer.taken, engine, NAME, observer.forget)

    def refuse(self, scenario: Scenario) -> None:
        """Refuse nothing: it has all that there is."""

    def play(self, scenario: Scenario) -> Trace:
        """Play a scenario; its trace ends with what the spans say."""
        return self._player.play(scenario)
