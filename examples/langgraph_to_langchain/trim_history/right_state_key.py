"""Shows the model the end of a long history: a hook hands it on in a private key."""

from __future__ import annotations

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
from langchain_core.messages import AnyMessage, trim_messages
from langgraph.runtime import Runtime

from refengine.testing import World

KEEP: Final = 6
"""So many messages are shown, the instruction aside."""


class Trimmed(AgentState[Any]):
    """What the agent keeps, and what the model is to see of it."""

    shown: NotRequired[Annotated[list[AnyMessage], PrivateStateAttr]]


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Trim()]
    )


class Trim(AgentMiddleware[Trimmed]):
    """Shows the last messages, from one of the user on; all are kept."""

    state_schema = Trimmed

    def before_model(self, state: Trimmed, runtime: Runtime[None]) -> dict[str, Any]:  # noqa: ARG002  # as AgentMiddleware
        """Choose what is shown; all of it where no user speaks in the end."""
        end = trim_messages(
            state["messages"],
            strategy="last",
            token_counter=len,
            max_tokens=KEEP,
            start_on="human",
        )
        return {"shown": end or state["messages"]}

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Show what was chosen."""
        return handler(request.override(messages=chosen(request)))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show what was chosen."""
        return await handler(request.override(messages=chosen(request)))


def chosen(request: ModelRequest[None]) -> list[AnyMessage]:
    """Return what the hook chose for this call."""
    return cast("Trimmed", request.state).get("shown", request.messages)
