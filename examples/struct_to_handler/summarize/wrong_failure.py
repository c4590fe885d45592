"""Wrong: a summary that fails ends the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import AgentConfig, Context, Message
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
    """Has the model summarise what is old."""

    name = "summarize"

    def __init__(self, world: World) -> None:
        self._world = world

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return the history, shortened if it is long."""
        return ctx, await self._shortened(ctx, messages)

    async def _shortened(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Sequence[Message]:
        start, end = older_part(messages)
        if start >= end:
            return messages
        question = [*messages[start:end], Message("user", ASK)]
        answer = await self._world.model.invoke(ctx, question, (), {})
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
