"""Replaces the older part of a long history by a summary: a struct middleware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import AgentMiddleware, ChatModelAgentState, Context, Message
from refengine.testing import World

LIMIT: Final = 8
"""A history of more messages is summarised."""
KEEP: Final = 3
"""So many messages at its end stay as they are."""
ASK: Final = "Summarise the conversation so far in one sentence."
SUMMARY: Final = "What was said before: "


def subject(world: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""

    async def summarize(ctx: Context, state: ChatModelAgentState) -> None:
        start, end = older_part(state.messages)
        if start >= end:
            return
        question = [*state.messages[start:end], Message("user", ASK)]
        try:
            answer = await world.model.invoke(ctx, question, (), {})
        except Exception as error:  # noqa: BLE001  # the run can do without a summary
            world.effect("no_summary", {"error": str(error)})
            return
        state.messages[start:end] = [Message("user", SUMMARY + answer.content)]

    return [AgentMiddleware(before_chat_model=summarize)]


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
