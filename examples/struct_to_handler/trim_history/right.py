"""Keeps the last messages of a long history: a handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import AgentConfig, Context, Message
from refengine.testing import World

KEEP: Final = 6
"""So many messages stay, the system message aside."""


def subject(_: World) -> list[TrimHistory]:
    """Return the handler of one session."""
    return [TrimHistory()]


class TrimHistory:
    """Drops the oldest messages, and results whose call was dropped."""

    name = "trim_history"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return the system message and the last ones."""
        head = messages[:1] if messages and messages[0].role == "system" else ()
        kept = list(messages[len(head) :][-KEEP:])
        while kept and kept[0].role == "tool":
            del kept[0]
        return ctx, [*head, *kept]
