"""Tries a model again, and then another one: one class of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool

from refengine.testing import World

TRIES: Final = 3
PASSING: Final = (TimeoutError, ConnectionError)


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[TryAgain(lc.model_named("backup"))],
    )


class TryAgain(AgentMiddleware[AgentState[Any]]):
    """Asks a model up to three times, and then the other one as often."""

    def __init__(self, backup: BaseChatModel) -> None:
        super().__init__()
        self._backup = backup

    def wrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Ask until there is an answer; raises what the first model raised."""
        errors: list[Exception] = []
        for model in (request.model, self._backup):
            for number in range(1, TRIES + 1):
                try:
                    return handler(request.override(model=model))
                except Exception as error:  # noqa: BLE001  # the other model may answer
                    if number == TRIES or not isinstance(error, PASSING):
                        errors.append(error)
                        break
        raise errors[0]

    async def awrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Ask until there is an answer; raises what the first model raised."""
        errors: list[Exception] = []
        for model in (request.model, self._backup):
            for number in range(1, TRIES + 1):
                try:
                    return await handler(request.override(model=model))
                except Exception as error:  # noqa: BLE001  # the other model may answer
                    if number == TRIES or not isinstance(error, PASSING):
                        errors.append(error)
                        break
        raise errors[0]


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
