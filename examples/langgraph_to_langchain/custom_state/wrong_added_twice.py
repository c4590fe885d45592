"""Wrong: the hook returns the sum, and the key adds what it is returned.

It is right until tools are called a second time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from operator import add
from typing import Annotated, Any, Final, NotRequired, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from refengine.testing import World

BUDGET: Final = 4
"""So many calls the model is told it has."""


class Counted(AgentState[Any]):
    """What the agent keeps, and how many calls there were: returns add up."""

    calls: NotRequired[Annotated[int, add]]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Budget()],
        checkpointer=InMemorySaver(),
    )


class Budget(AgentMiddleware[Counted]):
    """Tells the model how many calls are left."""

    state_schema = Counted

    def after_model(self, state: Counted, runtime: Runtime[None]) -> dict[str, Any]:  # noqa: ARG002  # as AgentMiddleware
        """Add the calls of an answer."""
        answer = state["messages"][-1]
        made = answer.tool_calls if isinstance(answer, AIMessage) else []
        return {"calls": state.get("calls", 0) + len(made)}

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Tell it."""
        return handler(told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Tell it."""
        return await handler(told(request))


def told(request: ModelRequest[None]) -> ModelRequest[None]:
    """Return the request with the number behind the instruction."""
    left = BUDGET - cast("Counted", request.state).get("calls", 0)
    lines = [request.system_prompt] if request.system_prompt else []
    lines.append(f"You have {left} calls left.")
    return request.override(system_message=SystemMessage("\n".join(lines)))
