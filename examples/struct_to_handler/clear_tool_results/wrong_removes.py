"""Wrong: removes the old results, whose calls stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import AgentConfig, Context, Message
from refengine.testing import World

KEEP: Final = 3
"""So many results stay as they are, the last ones."""
PROTECTED: Final = frozenset(("read_notes", "get_plan"))
"""Tools whose results stay for good."""


def subject(_: World) -> list[ClearToolResults]:
    """Return the handler of one session."""
    return [ClearToolResults()]


class ClearToolResults:
    """Removes all results but the last ones."""

    name = "clear_tool_results"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return the history without its old results."""
        results = [
            at
            for at, message in enumerate(messages)
            if message.role == "tool" and message.name not in PROTECTED
        ]
        old = frozenset(results[:-KEEP])
        return ctx, [each for at, each in enumerate(messages) if at not in old]
