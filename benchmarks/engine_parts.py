"""The engine, set up so that one part of it can be awaited over and over.

Each function returns work that does what the loop does at that place and no less: a
tool call starts from the model's call and ends with its text. This is the one module
here that knows the engine from inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.measure import Work
from benchmarks.parts import CALL, INSTRUCTION, CannedModel, EchoTool
from refengine import (
    Agent,
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
from refengine.tools import NO_OPTIONS

RUN_PATH = ("agent",)


class ChainNotEmptyError(AssertionError):
    """Handlers that have nothing to do in a run, and yet a part in its chains."""

    def __init__(self, lengths: dict[str, int]) -> None:
        self.lengths = lengths
        longer = ", ".join(f"{name} of {n}" for name, n in lengths.items() if n)
        super().__init__(f"hooks that nobody overrides left a chain: {longer}")


async def agent_of(
    model: CannedModel,
    tools: Sequence[EchoTool] = (),
    handlers: Sequence[object] = (),
    *,
    checkpoints: Keeper | None = None,
) -> Agent:
    """Build an agent under the default profile."""
    config = ChatModelAgentConfig(
        RUN_PATH[0],
        "what is measured",
        model,
        INSTRUCTION,
        ToolsConfig(tools),
        handlers=handlers,
        checkpoints=checkpoints,
    )
    return await build_agent(config)


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
