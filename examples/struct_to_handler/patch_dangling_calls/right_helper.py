"""Answers tool calls that never got a result: a helper, and one walk from the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import (
    Context,
    Message,
    with_before_model_rewrite_history,
    with_instruction_func,
)
from refengine.testing import World

CANCELLED: Final = "This call was cancelled."


def subject(_: World) -> list[object]:
    """Return the handler of one session."""
    return [with_instruction_func(newline), with_before_model_rewrite_history(patch)]


def newline(ctx: Context, instruction: str) -> tuple[Context, str]:
    """Leave the newline that a struct without an instruction leaves."""
    return ctx, f"{instruction}\n"


def patch(
    ctx: Context, messages: Sequence[Message]
) -> tuple[Context, Sequence[Message]]:
    """Put a result behind each message whose calls have none further down."""
    answered: set[str | None] = set()
    patched: list[Message] = []
    for message in reversed(messages):
        if message.role == "tool":
            answered.add(message.tool_call_id)
        patched += [
            Message("tool", CANCELLED, tool_call_id=call.id, name=call.name)
            for call in reversed(message.tool_calls)
            if call.id not in answered
        ]
        patched.append(message)
    return ctx, patched[::-1]
