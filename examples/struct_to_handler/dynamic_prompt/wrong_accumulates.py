"""Wrong: every request adds a note to those before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from refengine import AgentConfig, Context, Message
from refengine.testing import World

RULE: Final = "Answer in one sentence."
NOTE: Final = "\n\nSeconds since the session began: "


def subject(world: World) -> list[DynamicPrompt]:
    """Return the handler of one session."""
    return [DynamicPrompt(world)]


class DynamicPrompt:
    """Says the rule once and the time anew in every request."""

    name = "dynamic_prompt"

    def __init__(self, world: World) -> None:
        self._world = world

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Add the rule as a line; a struct puts a newline before it in any case."""
        config.instruction += f"\n{RULE}"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Put the note into the system message."""
        if not messages or messages[0].role != "system":
            messages = [Message("system"), *messages]
        system = messages[0]
        text = f"{system.content}{NOTE}{self._world.now():.3f}"
        return ctx, [replace(system, content=text), *messages[1:]]
