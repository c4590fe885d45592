"""An agent of strands for a configuration, and its runs.

An agent keeps its conversation and takes one run at a time, so every run has its own;
one is made when the agent is built, for what the framework refuses there. What a run
tells is read from ``stream_async``, which is pulled.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from itertools import chain
from typing import Any, cast

from strands import Agent
from strands.agent import NullConversationManager
from strands.plugins import Plugin
from strands.tools.executors import ConcurrentToolExecutor, SequentialToolExecutor

from compat.engines.capabilities import hooks_by_name
from compat.engines.strands.hooks import (
    of_door,
    of_handler,
    of_struct,
    tools_of,
)
from compat.engines.strands.messages import (
    begun_by,
    our_chunk,
    our_results,
    ours,
    theirs,
)
from compat.engines.strands.values import StrandsDeps, StrandsModel
from refengine.agent import ChatModelAgentConfig
from refengine.events import AgentEvent
from refengine.hooks import AgentConfig
from refengine.loop import Status
from refengine.messages import Message
from refengine.run import RunResult
from refengine.testing.blaming import FrameworkError, blame, blamed, named_hooks
from refengine.testing.doors import (
    GeneratedAgent,
    Yielded,
    door_agent,
    ended,
    run_context,
)
from refengine.testing.telling import StreamedAnswers, Tell, in_lock_step, to_the_end
from refengine.tools import NO_OPTIONS, Options, as_meta, normalise

Told = AgentEvent | Message
# What a tool raised becomes a result, and is logged: with a handler that does nothing
# it is not printed, either.
logging.getLogger("strands").addHandler(logging.NullHandler())


def agent_of(engine: str, config: ChatModelAgentConfig) -> GeneratedAgent:
    """Build the agent; raises what the framework refuses."""
    _Run(engine, config, (), streams=False).made(_nobody)

    def start(messages: Sequence[Message], stream: bool, options: Options) -> Yielded:
        return _Run(engine, config, messages, streams=stream).told(options)

    return door_agent(config.name, start)


async def _nobody(_: Message) -> None: ...


def _handlers(
    config: ChatModelAgentConfig, deps: StrandsDeps, shown: AgentConfig
) -> Iterator[Plugin]:
    named = named_hooks(config.handlers)
    for handler, found in zip(config.handlers, named, strict=True):
        name, _ = hooks_by_name(handler)
        yield of_handler(name, found, deps, shown)


class _Run:
    """One run: its agent, what it tells, and what it has come to."""

    def __init__(
        self,
        engine: str,
        config: ChatModelAgentConfig,
        given: Sequence[Message],
        *,
        streams: bool,
    ) -> None:
        self._config = config
        self._given = given
        self._deps = StrandsDeps(engine, run_context(config.name), streams)
        self._agent: Agent | None = None
        self._answers = False  # the next message is an answer, as hooks left it
        self._begun: Any = None
        self._limited = False

    def made(self, answered: Tell[Message]) -> Agent:
        """Return the agent of this run; raises what the framework refuses."""
        config, deps = self._config, self._deps
        tools = [as_meta(each) for each in config.tools_config.tools]
        added = [[*map(as_meta, each.additional_tools)] for each in config.middlewares]
        every = normalise([*tools, *chain.from_iterable(added)])
        run = tuple(self._given), NO_OPTIONS
        shown = AgentConfig(config.instruction, every, run)
        one_by_one = config.tools_config.sequential
        return Agent(
            StrandsModel(config.model, deps),
            tools=cast("list[Any]", tools_of(tools, deps)),
            system_prompt=config.instruction or None,
            callback_handler=None,
            conversation_manager=NullConversationManager(),
            retry_strategy=None,
            name=config.name,
            tool_executor=(
                SequentialToolExecutor() if one_by_one else ConcurrentToolExecutor()
            ),
            plugins=[
                *(of_struct(at, tools_of(some, deps)) for at, some in enumerate(added)),
                *_handlers(config, deps, shown),
                of_door(deps, answered),
            ],
        )

    def told(self, options: Options) -> Yielded:
        """Return what the run tells, and how it ended."""

        async def work(tell: Tell[Told]) -> None:
            if options:
                self._deps.refuse("run_options", "a run with options")
            try:
                await self._work(tell)
            except Exception as error:
                self._deps.stop_if_refused()
                self._name(error)
                raise
            self._deps.stop_if_refused()

        return to_the_end(in_lock_step(work), self._left, self._config.name)

    async def _work(self, tell: Tell[Told]) -> None:
        pieces = StreamedAnswers(tell, self._config.name)
        streams = self._deps.streams

        async def answered(answer: Message) -> None:
            self._answers = True
            if not streams:
                await tell(answer)

        self._agent = self.made(answered)
        given = theirs(self._deps, self._given)
        limits: Any = {"turns": self._config.max_iterations}
        events = self._agent.stream_async(given, limits=limits)
        async with aclosing(cast("Any", events)):
            try:
                async for event in events:
                    if streams and "event" in event:
                        await self._take(event["event"], pieces)
                    await self._follow(event, tell)
            except Exception as error:
                await pieces.end(error)
                raise

    async def _take(self, event: Any, pieces: StreamedAnswers) -> None:  # noqa: ANN401  # of a stream
        if "messageStop" in event:
            await pieces.end()
        elif (chunk := our_chunk(event, self._begun)) is not None:
            pieces.add(chunk)
        self._begun = begun_by(event)

    async def _follow(self, event: Any, tell: Tell[Told]) -> None:  # noqa: ANN401  # of any kind
        if "start_event_loop" in event:
            self._deps.asked += 1
        if "message" in event and not self._answers:
            for each in our_results(event["message"], self._names()):
                await tell(each)
        self._answers &= "message" not in event
        if "result" in event:
            self._limited = event["result"].stop_reason == "limit_turns"

    def _names(self) -> dict[str, str]:
        history = ours(self._agent.messages if self._agent else ())
        return {call.id: call.name for each in history for call in each.tool_calls}

    def _left(self) -> RunResult:
        history = ours(self._agent.messages) if self._agent else tuple(self._given)
        how: Status = "max_iterations" if self._limited else "completed"
        return ended(history, how, iterations=self._deps.asked)

    def _name(self, error: Exception) -> None:
        """Note whose an error is that the framework raised, or wrapped."""
        cause = error.__cause__
        if isinstance(cause, Exception) and blamed(cause) is not cause:
            blame(error, blamed(cause))
        blame(error, FrameworkError(error))
