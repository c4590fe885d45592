"""Tries a model again, and then another one: a built-in inside a class."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    ModelRetryMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[
            Fallback(lc.model_named("backup")),
            ModelRetryMiddleware(
                max_retries=2,
                retry_on=(TimeoutError, ConnectionError),
                on_failure="error",
                initial_delay=0.0,
                jitter=False,
            ),
        ],
    )


class Fallback(AgentMiddleware[AgentState[Any]]):
    """Asks the other model if the first one fails.

    The built-in raises what the last one raised, and the old form what the first did.
    """

    def __init__(self, backup: BaseChatModel) -> None:
        super().__init__()
        self._backup = backup

    def wrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Ask both; raises what the first one raised."""
        try:
            return handler(request)
        except Exception as first:  # noqa: BLE001  # the other model may answer
            try:
                return handler(request.override(model=self._backup))
            except Exception:  # noqa: BLE001  # whatever the other one says
                raise first from None

    async def awrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Ask both; raises what the first one raised."""
        try:
            return await handler(request)
        except Exception as first:  # noqa: BLE001  # the other model may answer
            try:
                return await handler(request.override(model=self._backup))
            except Exception:  # noqa: BLE001  # whatever the other one says
                raise first from None


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
