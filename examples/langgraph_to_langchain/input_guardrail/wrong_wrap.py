"""Wrong: the model call is answered in its place, so the refusal comes from the model.

Whoever reads the result sees the same. Whoever reads the stream gets the refusal as
something that the model said.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, NotRequired, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from refengine.testing import World

BANNED: Final = re.compile(r"password|api[ _]key", re.IGNORECASE)
REFUSAL: Final = "I cannot help with secrets."


class Noted(AgentState[Any]):
    """What the agent keeps, and whether it has to refuse."""

    refuse: NotRequired[Annotated[bool, PrivateStateAttr]]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Guard(world)],
    )


class Guard(AgentMiddleware[Noted]):
    """Looks at the message that a run begins with."""

    state_schema = Noted

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def before_agent(self, state: Noted, runtime: Runtime[None]) -> dict[str, Any]:  # noqa: ARG002  # as AgentMiddleware
        """Note whether to refuse."""
        last = state["messages"][-1] if state["messages"] else None
        found = isinstance(last, HumanMessage) and BANNED.search(last.text)
        self._world.effect("checked", {"messages": len(state["messages"])})
        return {"refuse": bool(found)}

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Refuse instead of asking, if that was noted."""
        return refusal(request) or handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Refuse instead of asking, if that was noted."""
        return refusal(request) or await handler(request)


def refusal(request: ModelRequest[None]) -> ModelResponse[Any] | None:
    """Return the refusal, if it was noted that there is to be one."""
    if not cast("Noted", request.state).get("refuse"):
        return None
    return ModelResponse(result=[AIMessage(REFUSAL)])
