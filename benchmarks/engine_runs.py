"""Our engine at work: a whole run or build, as a user's program does it, or one part.

What stands for a part does what the loop does at that place and no less: a tool call
starts from the model's call and ends with its text. This is the one module here that
knows the engine from inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from benchmarks.byhand import HELLO
from benchmarks.measure import Work
from benchmarks.parts import (
    ANSWERS,
    ASKS,
    CALL,
    INSTRUCTION,
    CannedModel,
    SharedParts,
    StreamedModel,
)
from benchmarks.specs import STREAMED_HOOK, Setting
from compat.adapters import adapt
from refengine import (
    Agent,
    AgentMiddleware,
    ChatModelAgentConfig,
    Context,
    Message,
    ModelRequest,
    ToolsConfig,
    build_agent,
)
from refengine.chain import CallScope, Pipeline
from refengine.model_calls import ModelCall
from refengine.resume.checkpoint import Keeper
from refengine.tool_calls import ToolCallRun
from refengine.tools import NO_OPTIONS, Tool

RUN_PATH: Final = ("agent",)


class ChainNotEmptyError(AssertionError):
    """Handlers that have nothing to do in a run, and yet a part in its chains."""

    def __init__(self, lengths: dict[str, int]) -> None:
        self.lengths = lengths
        longer = ", ".join(f"{name} of {n}" for name, n in lengths.items() if n)
        super().__init__(f"hooks that nobody overrides left a chain: {longer}")


async def run(
    setting: Setting,
    kit: SharedParts,
    handlers: Sequence[object],
    structs: Sequence[AgentMiddleware],
) -> Work:
    """Build the agent and return one run of it, which ends with its answer."""
    agent = await build_agent(config_of(setting, kit, handlers, structs))
    return runs(agent, (HELLO,) * setting.history, stream=setting.stream)


def build(
    setting: Setting,
    kit: SharedParts,
    handlers: Sequence[object],
    structs: Sequence[AgentMiddleware],
) -> Work:
    """Return one build of the agent."""
    config = config_of(setting, kit, handlers, structs)

    async def work() -> Agent:
        return await build_agent(config)

    return work


def runs(
    agent: Agent,
    messages: Sequence[Message],
    *,
    stream: bool = False,
    checkpoint: str | None = None,
) -> Work:
    """Return one run of an agent, for a caller that needs no events.

    ``checkpoint`` is the key of one that is kept, and the same each time.
    """

    async def work() -> Message | None:
        async with agent.run(messages, stream, checkpoint=checkpoint) as run:
            return (await run.result()).answer

    return work


def config_of(
    setting: Setting,
    kit: SharedParts,
    handlers: Sequence[object],
    structs: Sequence[AgentMiddleware],
) -> ChatModelAgentConfig:
    """Return the configuration: structs stand as they are, or adapted to handlers."""
    make = kit.streamed_tool if setting.hook == STREAMED_HOOK else kit.tool
    model = kit.streamed_model if setting.stream else kit.model
    adapted = adapt(structs) if setting.form == "adapted" else []
    config = _config(
        model(ASKS, ANSWERS),
        [make(name) for name in setting.tool_names],
        [*adapted, *handlers],
    )
    native = structs if setting.form == "native" else ()
    return replace(config, middlewares=native)


async def agent_of(
    model: CannedModel,
    tools: Sequence[Tool] = (),
    handlers: Sequence[object] = (),
    *,
    checkpoints: Keeper | None = None,
) -> Agent:
    """Build an agent under the default profile."""
    config = _config(model, tools, handlers)
    return await build_agent(replace(config, checkpoints=checkpoints))


def _config(
    model: CannedModel | StreamedModel,
    tools: Sequence[Tool],
    handlers: Sequence[object],
) -> ChatModelAgentConfig:
    return ChatModelAgentConfig(
        RUN_PATH[0],
        "what is measured",
        model,
        INSTRUCTION,
        ToolsConfig(tools),
        handlers=handlers,
    )


def before_model(agent: Agent, ctx: Context, messages: Sequence[Message]) -> Work:
    """Send the history through the agent's pipeline of handlers before the model."""
    [pipeline] = agent.machine.before
    if not isinstance(pipeline, Pipeline):
        raise TypeError(pipeline)
    return partial(pipeline.rewrite, ctx, messages)


async def tool_call(agent: Agent) -> Work:
    """Call the agent's tool through its onion, as its loop does."""
    plan, ctx = await agent.planned((), None, NO_OPTIONS)
    bound = agent.machine.binder.for_run(plan)[CALL.name]
    ctx = CallScope(RUN_PATH, {}).innermost(ctx)

    async def work() -> str | None:
        scope = CallScope(RUN_PATH, {}, bound, CALL.id)
        run = ToolCallRun(CALL, bound, scope, NO_OPTIONS)
        await run.open(ctx, streaming=False)
        return run.text

    return work


def model_call(agent: Agent, request: ModelRequest) -> Work:
    """Call the agent's model through its onion, as its loop does."""
    onion, run_locals = agent.machine.model, dict[str, object]()
    ctx = CallScope(RUN_PATH, run_locals).innermost(Context())

    async def work() -> Message:
        return await ModelCall(onion, request, RUN_PATH, run_locals).invoke(ctx)

    return work


def refuse_any_chain(agent: Agent) -> None:
    """See that a run goes through no handler; raises ChainNotEmptyError."""
    machine = agent.machine
    lengths = {
        "before_model": sum(_length(phase) for phase in machine.before),
        "after_model": sum(_length(phase) for phase in machine.after),
        "model onion": len(machine.model),
        "tool onion": len(machine.binder.invokable.names),
    }
    if any(lengths.values()):
        raise ChainNotEmptyError(lengths)


def _length(phase: object) -> int:
    return len(phase) if isinstance(phase, Pipeline) else 1
