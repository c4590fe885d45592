"""The Flow dialect of this house: callbacks of an agent, and plugins of its runner.

It stands beside google-adk, whose rules it has, and does the same run: a session in
memory, one message through a ``Runner``. Each callback and plugin does nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import cycle
from typing import Any, Final, TypeAlias

from benchmarks.measure import Work
from benchmarks.peers.peer import (
    AFTER_MODEL,
    ANSWER,
    BEFORE_MODEL,
    CALL_ID,
    QUESTION,
    TOOL,
    TOOL_TEXT,
    WRAP_TOOL,
    Build,
    PeerCounts,
    Variant,
    counted,
    echo,
)
from compat.dialects.flow import (
    Content,
    FunctionCall,
    InMemorySessionService,
    LlmAgent,
    LlmRequest,
    LlmResponse,
    Part,
    Plugin,
    Runner,
    Usage,
    function_tool,
)

FlowCallback: TypeAlias = Callable[..., Awaitable[None]]

APP: Final = "measured"
USER: Final = "user"


class CycledFlowModel:
    """Gives premade responses in turn, over and over."""

    name = "scripted"

    def __init__(self, seen: PeerCounts | None) -> None:
        call = FunctionCall(TOOL, {"text": TOOL_TEXT}, CALL_ID)
        parts = (Part(call=call), Part(text=ANSWER))
        usage = Usage(prompt=1, answer=1, total=2)
        self._following = cycle(
            [
                LlmResponse(content=Content("model", (each,)), usage=usage)
                for each in parts
            ]
        ).__next__
        self._seen = seen

    async def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        """Yield the next response, whatever it is asked."""
        del request, stream
        if self._seen is not None:
            self._seen.model += 1
        yield self._following()


def abstaining() -> FlowCallback:
    """Return a callback of its own that changes nothing."""

    async def callback(*_: object) -> None:
        return None

    return callback


def of_callbacks(hook: str) -> Build:
    """Return what builds a run of an agent with callbacks at that hook."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        callbacks = [counted(abstaining(), seen, "hooks") for _ in range(n)]
        return run_of(agent_of(seen, {hook: callbacks}))

    return build


def of_plugins(hook: str) -> Build:
    """Return what builds a run of a runner with plugins that have that hook."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        hooks: list[dict[str, Any]] = [
            {hook: counted(abstaining(), seen, "hooks")} for _ in range(n)
        ]
        plugins = [Plugin(name=f"p-{at}", **each) for at, each in enumerate(hooks)]
        return run_of(agent_of(seen, {}), plugins)

    return build


def agent_of(seen: PeerCounts | None, callbacks: dict[str, Any]) -> LlmAgent:
    """Build the agent."""
    tool = function_tool(counted(echo, seen, "tool"), name=TOOL)
    model = CycledFlowModel(seen)
    return LlmAgent(name="agent", model=model, tools=[tool], **callbacks)


def run_of(agent: LlmAgent, plugins: Sequence[Plugin] = ()) -> Work:
    """Return a run of the agent, in a session of its own."""
    sessions = InMemorySessionService()
    runner = Runner(agent, app=APP, session_service=sessions, plugins=plugins)

    async def work() -> str:
        session = await sessions.create(APP, USER)
        answer = ""
        async for event in runner.run(USER, session.id, QUESTION):
            if event.content is not None:
                answer = event.content.text
        return answer

    return work


VARIANTS: Final = (
    Variant("before_model", BEFORE_MODEL, of_callbacks("before_model")),
    Variant("after_model", AFTER_MODEL, of_callbacks("after_model")),
    Variant("before_tool", WRAP_TOOL, of_callbacks("before_tool")),
    Variant("plugin before_model", BEFORE_MODEL, of_plugins("before_model")),
    Variant("plugin before_tool", WRAP_TOOL, of_plugins("before_tool")),
)
