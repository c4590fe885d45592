"""Strands Agents: a hook, and the middleware around a model and around a tool call.

A run is one ``agent.invoke_async``. An agent of it keeps its messages and its metrics,
so a run begins by giving it new ones: two plain objects, and part of what is measured.
Spans go to OpenTelemetry's own no-op tracer, as nobody sets up another.

The hook and the two stages of middleware are functions that call on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, Final, TypeAlias

from strands import (
    Agent,
    tool,  # pyright: ignore[reportUnknownVariableType]  # a bare dict in its types
)
from strands.hooks import BeforeModelCallEvent
from strands.middleware import ExecuteToolStage, InvokeModelStage, MiddlewareWrapPhase
from strands.models import Model
from strands.telemetry.metrics import EventLoopMetrics
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from benchmarks.measure import Work
from benchmarks.parts import CALL, INSTRUCTION
from benchmarks.peers.peer import (
    ANSWER,
    BEFORE_MODEL,
    QUESTION,
    WRAP_MODEL,
    WRAP_TOOL,
    Build,
    PeerCounts,
    Variant,
    counted,
    echo,
)

Next: TypeAlias = Callable[[object], AsyncGenerator[Any]]
Layer: TypeAlias = Callable[[object, Next], AsyncGenerator[Any]]


class ScriptedStrandsModel(Model):
    """Asks for the tool, and answers once it has spoken."""

    def __init__(self, seen: PeerCounts | None) -> None:
        self._seen = seen

    def update_config(self, **model_config: Any) -> None:  # noqa: ANN401  # none is taken
        """Set nothing."""

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    def structured_output(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401  # not used
        """Refuse: no run asks for it."""
        raise NotImplementedError

    async def stream(
        self,
        messages: Messages,
        *given: Any,  # noqa: ANN401  # of which it needs nothing
        **named: Any,  # noqa: ANN401  # of which it needs nothing
    ) -> AsyncGenerator[StreamEvent]:
        """Yield the events of one answer."""
        del given, named
        if self._seen is not None:
            self._seen.model += 1
        answered = any("toolResult" in block for block in messages[-1]["content"])
        for event in answer() if answered else ask():
            yield event


def ask() -> Iterator[StreamEvent]:
    """Yield the call of the tool."""
    yield {"messageStart": {"role": "assistant"}}
    yield {
        "contentBlockStart": {
            "start": {"toolUse": {"name": CALL.name, "toolUseId": CALL.id}}
        }
    }
    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": CALL.arguments}}}}
    yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "tool_use"}}


def answer() -> Iterator[StreamEvent]:
    """Yield the text that ends the run."""
    yield {"messageStart": {"role": "assistant"}}
    yield {"contentBlockStart": {"start": {}}}
    yield {"contentBlockDelta": {"delta": {"text": ANSWER}}}
    yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "end_turn"}}


def agent_of(seen: PeerCounts | None) -> Agent:
    """Build an agent that prints nothing."""
    return Agent(
        ScriptedStrandsModel(seen),
        tools=[tool(counted(echo, seen, "tool"))],
        system_prompt=INSTRUCTION,
        callback_handler=None,
    )


def run_of(agent: Agent) -> Work:
    """Return one run of the agent, which begins with no history and no metrics."""

    async def work() -> str:
        agent.messages = []
        agent.event_loop_metrics = EventLoopMetrics()
        return str(await agent.invoke_async(QUESTION)).rstrip("\n")

    return work


def with_hooks(n: int, seen: PeerCounts | None) -> Work:
    """Build a run with that many hooks before the model."""
    agent = agent_of(seen)
    for _ in range(n):

        async def see(event: BeforeModelCallEvent) -> None:
            """Change nothing."""

        agent.add_hook(counted(see, seen, "hooks"), BeforeModelCallEvent)
    return run_of(agent)


def layer(seen: PeerCounts | None) -> Layer:
    """Return a function that hands a call on."""

    async def call_on(context: object, next_fn: Next) -> AsyncGenerator[Any]:
        async for event in next_fn(context):
            yield event

    def counting(context: object, next_fn: Next) -> AsyncGenerator[Any]:
        if seen is not None:
            seen.hooks += 1
        return call_on(context, next_fn)

    return call_on if seen is None else counting


def wrapped(stage: MiddlewareWrapPhase[Any, Any, Any]) -> Build:
    """Return what builds a run with that many layers around a stage."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        agent = agent_of(seen)
        for _ in range(n):
            agent.add_middleware(stage, layer(seen))
        return run_of(agent)

    return build


VARIANTS: Final = (
    Variant("BeforeModelCallEvent", BEFORE_MODEL, with_hooks),
    Variant("InvokeModelStage.Wrap", WRAP_MODEL, wrapped(InvokeModelStage.Wrap)),
    Variant("ExecuteToolStage.Wrap", WRAP_TOOL, wrapped(ExecuteToolStage.Wrap)),
)
