"""Wrong: shortens what the model sees, but not what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from refengine import (
    AgentConfig,
    Context,
    Message,
    MessageChunk,
    ModelEndpoint,
    ModelRequest,
    StreamReader,
)
from refengine.testing import World

LIMIT: Final = 8
"""A history of more messages is summarised."""
KEEP: Final = 3
"""So many messages at its end stay as they are."""
ASK: Final = "Summarise the conversation so far in one sentence."
SUMMARY: Final = "What was said before: "


def subject(world: World) -> list[Summarize]:
    """Return the handler of one session."""
    return [Summarize(world)]


class Summarize:
    """Has the model summarise what is old; if it fails, the history stays long."""

    name = "summarize"

    def __init__(self, world: World) -> None:
        self._world = world

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | StreamReader[MessageChunk]:
        """Ask with a history that is shortened if it is long."""
        messages = await self._shortened(ctx, request.messages)
        return await next(ctx, replace(request, messages=messages))

    async def _shortened(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Sequence[Message]:
        start, end = older_part(messages)
        if start >= end:
            return messages
        question = [*messages[start:end], Message("user", ASK)]
        try:
            answer = await self._world.model.invoke(ctx, question, (), {})
        except Exception as error:  # noqa: BLE001  # the run can do without a summary
            self._world.effect("no_summary", {"error": str(error)})
            return messages
        summary = Message("user", SUMMARY + answer.content)
        return [*messages[:start], summary, *messages[end:]]


def older_part(messages: Sequence[Message]) -> tuple[int, int]:
    """Return where the part to summarise starts and ends; nothing if they are equal.

    It spares the system message, and no call is cut off from its results.
    """
    if len(messages) <= LIMIT:
        return 0, 0
    end = len(messages) - KEEP
    while end > 0 and messages[end].role == "tool":
        end -= 1
    return int(messages[0].role == "system"), end
