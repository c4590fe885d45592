"""Keeps the last messages of a long history: a struct middleware."""

from __future__ import annotations

from typing import Final

from refengine import AgentMiddleware, ChatModelAgentState, Context
from refengine.testing import World

KEEP: Final = 6
"""So many messages stay, the system message aside."""


def subject(_: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    return [AgentMiddleware(before_chat_model=trim)]


def trim(_: Context, state: ChatModelAgentState) -> None:
    """Drop the oldest messages, and results whose call was dropped."""
    messages = state.messages
    head = messages[:1] if messages and messages[0].role == "system" else []
    kept = messages[len(head) :][-KEEP:]
    while kept and kept[0].role == "tool":
        del kept[0]
    state.messages = [*head, *kept]
