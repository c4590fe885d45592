"""Answers tool calls that never got a result: a handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import AgentConfig, Context, Message
from refengine.testing import World

CANCELLED: Final = "This call was cancelled."


def subject(_: World) -> list[PatchDanglingCalls]:
    """Return the handler of one session."""
    return [PatchDanglingCalls()]


class PatchDanglingCalls:
    """Puts a result behind each message whose calls have none further down."""

    name = "patch_dangling_calls"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return the history with a result for every call."""
        patched: list[Message] = []
        for at, message in enumerate(messages):
            patched.append(message)
            if message.tool_calls:
                patched += missing_results(message, messages[at + 1 :])
        return ctx, patched


def missing_results(message: Message, later: Sequence[Message]) -> list[Message]:
    """Return a result for each call of the message that has none."""
    answered = {each.tool_call_id for each in later if each.role == "tool"}
    return [
        Message("tool", CANCELLED, tool_call_id=call.id, name=call.name)
        for call in message.tool_calls
        if call.id not in answered
    ]
