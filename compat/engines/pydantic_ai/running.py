"""An agent of pydantic-ai for a configuration, and its runs.

A run that streams is ``agent.run`` with a handler of its events; another one is a walk
over the nodes, so that models which need not stream do not.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any, cast

from pydantic_ai import Agent, CallToolsNode, RunContext
from pydantic_ai import capture_run_messages as captured
from pydantic_ai.capabilities import AbstractCapability, Capability
from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded, UserError
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ToolCallPart,
)
from pydantic_ai.result import AgentStream
from pydantic_ai.tools import Tool as TheirTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import UsageLimits
from pydantic_graph import End

from compat.engines.capabilities import hooks_by_name
from compat.engines.pydantic_ai.hooks import (
    Around,
    asks_the_model,
    hooks_of,
    text_of,
)
from compat.engines.pydantic_ai.values import (
    NOTHING,
    TEXT,
    ConfiguredModel,
    Deps,
    tool_of,
)
from refengine.agent import ChatModelAgentConfig
from refengine.errors import MaxIterationsExceededError
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.run import RunResult
from refengine.testing.blaming import FrameworkError, blame, named_hooks
from refengine.testing.doors import (
    GeneratedAgent,
    Yielded,
    door_agent,
    ended,
    run_context,
)
from refengine.testing.pydantic_ai.messages import (
    our_answer,
    our_chunk,
    our_result,
    ours,
    theirs,
)
from refengine.testing.telling import StreamedAnswers, Tell, in_lock_step, to_the_end
from refengine.tools import Options, Tool, ToolMeta, as_meta

Told = AgentEvent | Message
_ANSWER: Any = str | None
"""An answer may be empty, and the framework would ask again for one that is a text."""


def agent_of(engine: str, config: ChatModelAgentConfig) -> GeneratedAgent:
    """Build the agent; raises what the framework refuses."""
    structs = [each.additional_tools for each in config.middlewares]
    tools = [as_meta(each).tool for each in config.tools_config.tools]
    added = [as_meta(each).tool for brought in structs for each in brought]
    around = Around(config, {each.info.name: each.info for each in (*tools, *added)})
    agent: Agent[Deps, str | None] = Agent(
        output_type=_ANSWER,
        deps_type=Deps,
        instructions=config.instruction or None,
        tools=_tools(config, config.tools_config.tools),
        capabilities=[*_structs(config), *_handlers(config, around), _Ours()],
    )

    def start(messages: Sequence[Message], stream: bool, options: Options) -> Yielded:
        given = theirs(messages), options
        return _Run(engine, agent, around, *given, streams=stream).told()

    return door_agent(config.name, start)


def _structs(config: ChatModelAgentConfig) -> list[AbstractCapability[Deps]]:
    return [
        Capability(tools=_tools(config, each.additional_tools))
        for each in config.middlewares
    ]


def _tools(
    config: ChatModelAgentConfig, given: Sequence[Tool | ToolMeta]
) -> list[TheirTool[Deps]]:
    alone = config.tools_config.sequential
    return [tool_of(as_meta(each).tool, sequential=alone) for each in given]


def _handlers(
    config: ChatModelAgentConfig, around: Around
) -> list[AbstractCapability[Deps]]:
    """Return a capability for each handler, the same one for the same handler."""
    made: dict[int, AbstractCapability[Deps]] = {}
    named = named_hooks(config.handlers)
    for handler, found in zip(config.handlers, named, strict=True):
        owner, _ = hooks_by_name(handler)
        made.setdefault(id(handler), hooks_of(owner, found, around))
    return [made[id(handler)] for handler in config.handlers]


class _Ours(AbstractCapability[Deps]):
    """What the door itself hooks in, inside all handlers; it changes nothing."""

    async def wrap_node_run(
        self,
        ctx: RunContext[Deps],
        *,
        node: Any,  # noqa: ANN401  # as the framework has it
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401  # as the framework has it
        """Count an iteration that begins."""
        ctx.deps.asked += asks_the_model(node)
        return await handler(node)

    async def after_node_run(
        self,
        ctx: RunContext[Deps],
        *,
        node: Any,  # noqa: ANN401  # as the framework has it
        result: Any,  # noqa: ANN401  # as the framework has it
    ) -> Any:  # noqa: ANN401  # as the framework has it
        """Tell of an answer before hooks change it."""
        if asks_the_model(node) and isinstance(cast("object", result), CallToolsNode):
            await ctx.deps.answered(our_answer(result.model_response))
        return result

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Deps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401  # whatever the tool gives
        """Let the tool find how its arguments were written."""
        del ctx, tool_def
        token = TEXT.set(text_of(call, args))
        try:
            return await handler(args)
        finally:
            TEXT.reset(token)


class _Run:
    """One run: what it tells, and what it has come to."""

    def __init__(
        self,
        engine: str,
        agent: Agent[Deps, str | None],
        around: Around,
        given: list[ModelMessage],
        options: Options,
        *,
        streams: bool,
    ) -> None:
        self._engine = engine
        self._agent = agent
        self._around = around
        self._given = given
        self._options = options
        self._path = (around.config.name,)
        self._streams = streams
        self._messages: list[ModelMessage] = []
        self._asked = 0

    def told(self) -> Yielded:
        """Return what the run tells, and how it ended."""
        return to_the_end(in_lock_step(self._work), self._left, *self._path)

    def _left(self) -> RunResult:
        return ended(ours(self._messages), iterations=self._asked)

    async def _work(self, tell: Tell[Told]) -> None:
        config = self._around.config
        # An answer that streams is told of by its pieces.
        answered = _nobody if self._streams else tell
        deps = Deps(self._engine, run_context(*self._path), answered)
        self._refuse(deps)
        # Calls that wait are run first; behind an answer somebody has to ask anew.
        last = self._given[-1] if self._given else None
        asked = isinstance(last, ModelRequest) or bool(last and last.tool_calls)
        how: dict[str, Any] = {
            "user_prompt": None if asked else NOTHING,
            "message_history": self._given,
            "deps": deps,
            "model": ConfiguredModel(config.model, self._around.tools, deps),
            "usage_limits": UsageLimits(request_limit=config.max_iterations),
        }
        with captured() as self._messages:
            try:
                await (self._streamed if self._streams else self._walked)(tell, how)
            except UsageLimitExceeded as error:
                deps.asked -= 1  # the one that was refused
                raise MaxIterationsExceededError(config.max_iterations) from error
            except (AgentRunError, UserError) as error:
                blame(error, FrameworkError(error))
                raise
            finally:
                self._asked = deps.asked
                deps.stop_if_refused()

    def _refuse(self, deps: Deps) -> None:
        """Refuse what only the call of a run shows."""
        if self._options:
            deps.refuse("run_options", "a run with options")
        hooks = [hooks_by_name(each)[1] for each in self._around.config.handlers]
        if self._streams and any("wrap_model_call" in each for each in hooks):
            deps.refuse("streamed_model_wraps", "a streaming run")

    async def _streamed(self, tell: Tell[Told], how: dict[str, Any]) -> None:
        async def handler(
            _: RunContext[Deps], events: AsyncIterable[AgentStreamEvent]
        ) -> None:
            if isinstance(cast("object", events), AgentStream):  # of a model's answer
                await self._tell_pieces(tell, events)
            else:
                await _tell_results(tell, events)

        await self._agent.run(**how, event_stream_handler=handler)

    async def _walked(self, tell: Tell[Told], how: dict[str, Any]) -> None:
        async with self._agent.iter(**how) as run:
            node = run.next_node
            while not isinstance(node, End):
                if isinstance(node, CallToolsNode):
                    async with node.stream(run.ctx) as events:
                        await _tell_results(tell, events)
                node = await run.next(node)

    async def _tell_pieces(
        self, tell: Tell[Told], events: AsyncIterable[AgentStreamEvent]
    ) -> None:
        """Tell of an answer with its first piece, and then of each further one."""
        answers = StreamedAnswers(tell, *self._path)
        try:
            async for each in events:
                if (chunk := our_chunk(each)) is not None:
                    answers.add(chunk)
        except Exception as error:
            await answers.end(error)
            raise
        await answers.end()


async def _tell_results(
    tell: Tell[Told], events: AsyncIterable[AgentStreamEvent]
) -> None:
    async for event in events:
        if isinstance(event, FunctionToolResultEvent):
            await tell(our_result(event.part))


async def _nobody(_: Told) -> None: ...
