"""An agent of openai-agents for a configuration, and its runs.

A run that streams is ``Runner.run_streamed``, and its pieces are read from the stream;
another one is ``Runner.run``. Everything else is told by hooks in both, which wait.
Nothing is traced: what a trace has would be sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from agents import Agent, MaxTurnsExceeded, RunConfig, Runner
from agents.agent import StopAtTools
from agents.items import ToolCallOutputItem
from agents.result import RunResultBase
from agents.run_config import ToolExecutionConfig
from agents.stream_events import RawResponsesStreamEvent
from openai.types.responses import ResponseCompletedEvent

from compat.engines.openai_agents.hooks import (
    Found,
    HandlerHooks,
    TellingHooks,
    filtered,
    made_of,
)
from compat.engines.openai_agents.messages import our_chunk, ours, theirs
from compat.engines.openai_agents.values import PlayedModel, RunDeps
from refengine.agent import ChatModelAgentConfig
from refengine.errors import MaxIterationsExceededError, ToolNotFound
from refengine.events import AgentEvent
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
from refengine.tools import Options, as_meta

Told = AgentEvent | Message


def agent_of(engine: str, config: ChatModelAgentConfig) -> GeneratedAgent:
    """Build the agent; raises what the framework refuses."""
    tools = config.tools_config
    found: Found = dict(*named_hooks(config.handlers))
    metas = [as_meta(each) for each in tools.tools]
    agent: Agent[RunDeps] = Agent(
        config.name,
        hooks=HandlerHooks(config, found),
        **made_of(config.instruction, metas, tools.return_directly),
    )
    how = RunConfig(
        tracing_disabled=True,
        call_model_input_filter=partial(filtered, found=found),
        tool_execution=ToolExecutionConfig(1 if tools.sequential else None),
    )

    def start(messages: Sequence[Message], stream: bool, options: Options) -> Yielded:
        return _Run(engine, agent, config, how, messages).told(options, streams=stream)

    return door_agent(config.name, start)


class _Run:
    """One run: what it tells, and what it has come to."""

    def __init__(
        self,
        engine: str,
        agent: Agent[RunDeps],
        config: ChatModelAgentConfig,
        how: RunConfig,
        given: Sequence[Message],
    ) -> None:
        # Its own agent: a hook that edits one would edit that of other runs.
        self._agent = agent.clone(tools=[*agent.tools])
        self._config = config
        self._how = how
        self._given = given
        self._result: RunResultBase | None = None
        self._deps = RunDeps(engine, run_context(config.name), history=tuple(given))

    def told(self, options: Options, *, streams: bool) -> Yielded:
        """Return what the run tells, and how it ended."""

        async def work(tell: Tell[Told]) -> None:
            if options:
                self._deps.refuse("run_options", "a run with options")
            try:
                await (self._streamed if streams else self._whole)(tell)
            except MaxTurnsExceeded as error:
                self._deps.all_called()
                limit = self._config.max_iterations
                raise MaxIterationsExceededError(limit) from error
            except Exception as error:
                self._name(error)
                raise
            finally:
                self._deps.stop_if_refused()

        return to_the_end(in_lock_step(work), self._left, self._config.name)

    def _run(self) -> dict[str, Any]:
        model = PlayedModel(self._config.model, self._deps)
        return {
            "starting_agent": self._agent,
            "input": theirs(self._given),
            "context": self._deps,
            "max_turns": self._config.max_iterations,
            "hooks": TellingHooks(),
            "run_config": replace(self._how, model=model),
        }

    async def _whole(self, tell: Tell[Told]) -> None:
        self._deps.answered = self._deps.resulted = tell
        self._end(await Runner.run(**self._run()))

    async def _streamed(self, tell: Tell[Told]) -> None:
        answers = StreamedAnswers(tell, self._config.name)
        read = asyncio.Semaphore(0)

        async def answered(_: Message) -> None:
            await read.acquire()  # until an answer that is there has been read

        self._deps.answered = answered
        self._deps.resulted = tell
        result = Runner.run_streamed(**self._run())
        try:
            async for event in result.stream_events():
                if isinstance(event, RawResponsesStreamEvent):
                    await _take(event.data, answers, read)
        except Exception as error:
            await answers.end(error)
            raise
        finally:
            result.cancel()
        self._end(result)

    def _end(self, result: RunResultBase) -> None:
        self._result = result
        self._deps.history = ours(result.to_input_list())

    def _left(self) -> RunResult:
        deps, result = self._deps, self._result
        how: Any = {"iterations": deps.asked}
        if result is None or not isinstance(result.new_items[-1], ToolCallOutputItem):
            return ended(deps.history, **how)
        how["answer"] = self._ending(result.final_output)
        return ended(deps.history, "returned_directly", **how)

    def _ending(self, output: object) -> Message:
        """Return the result that ended the run: the framework hands over its text."""
        stops = cast("StopAtTools", self._agent.tool_use_behavior)["stop_at_tool_names"]
        found = [each for each in self._deps.history if each.tool_call_id is not None]
        return next(
            each
            for each in found[-len(self._deps.results) :]
            if each.name in stops and each.content == output
        )

    def _name(self, error: Exception) -> None:
        """Note whose an error is that the framework raised, or wrapped.

        Of what a tool raised it says what a ToolError says, and has it as its cause.
        """
        cause = error.__cause__
        if isinstance(cause, Exception) and blamed(cause) is not cause:
            blame(error, blamed(cause))
        called = self._deps.history[-1:]
        there = [each.name for each in self._agent.tools or ()]
        for call in called[0].tool_calls if called else ():
            if str(error).startswith(f"Tool {call.name} not found in agent"):
                blame(error, ToolNotFound(call.name, there))
        blame(error, FrameworkError(error))


async def _take(
    event: object, answers: StreamedAnswers, read: asyncio.Semaphore
) -> None:
    """Take the next event of a stream."""
    if isinstance(event, ResponseCompletedEvent):
        await answers.end()
        read.release()
    elif (chunk := our_chunk(event)) is not None:
        answers.add(chunk)
