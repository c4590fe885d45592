"""Wrong: the instruction is written once a run, and not for each model call.

A run without tool calls has one model call, so it sees no difference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, NotRequired, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime

from refengine.testing import World

LONG: Final = 5
"""From so many messages on, answers are to be short."""


class Told(AgentState[Any]):
    """What the agent keeps, and the instruction of this run."""

    instruction: NotRequired[str]


@dataclass(frozen=True)
class Who:
    """Who is asking."""

    user_name: str = "a guest"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, middleware=[Situation(world)], context_schema=Who
    )


class Situation(AgentMiddleware[Told, Who]):
    """Writes the instruction with who is asking, and when."""

    state_schema = Told

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def before_agent(self, state: Told, runtime: Runtime[Who]) -> dict[str, Any]:
        """Write the instruction of this run."""
        base = self._world.instruction
        lines = [
            *([base] if base else []),
            f"You speak with {runtime.context.user_name}.",
            f"The clock says {self._world.now():.3f}.",
        ]
        if len(state["messages"]) >= LONG:
            lines.append("Be brief.")
        return {"instruction": "\n".join(lines)}

    def wrap_model_call(
        self,
        request: ModelRequest[Who],
        handler: Callable[[ModelRequest[Who]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Send what was written."""
        return handler(told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Who],
        handler: Callable[[ModelRequest[Who]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Send what was written."""
        return await handler(told(request))


def told(request: ModelRequest[Who]) -> ModelRequest[Who]:
    """Return the request with the instruction of its run."""
    text = cast("Told", request.state).get("instruction", "")
    return request.override(system_message=SystemMessage(text))
