"""Answers tool calls that never got a result: a struct middleware."""

from __future__ import annotations

from typing import Final

from refengine import AgentMiddleware, ChatModelAgentState, Context, Message
from refengine.testing import World

CANCELLED: Final = "This call was cancelled."


def subject(_: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    return [AgentMiddleware(before_chat_model=patch)]


def patch(_: Context, state: ChatModelAgentState) -> None:
    """Put a result behind each message whose calls have none further down."""
    patched: list[Message] = []
    for at, message in enumerate(state.messages):
        patched.append(message)
        if not message.tool_calls:
            continue
        later = state.messages[at + 1 :]
        answered = {each.tool_call_id for each in later if each.role == "tool"}
        for call in message.tool_calls:
            if call.id not in answered:
                result = Message(
                    "tool", CANCELLED, tool_call_id=call.id, name=call.name
                )
                patched.append(result)
    state.messages = patched
