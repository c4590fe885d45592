"""Wrong: a rule for an empty instruction has no newline before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from refengine import Context, Message, with_instruction
from refengine.testing import World

RULE: Final = "Answer in one sentence."
NOTE: Final = "\n\nSeconds since the session began: "


def subject(world: World) -> list[object]:
    """Return the handlers of one session."""
    return [with_instruction(RULE), DynamicPrompt(world)]


class DynamicPrompt:
    """Says the time anew in every request."""

    name = "dynamic_prompt"

    def __init__(self, world: World) -> None:
        self._world = world

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Put the note into the system message, in the place of the last one."""
        if not messages or messages[0].role != "system":
            messages = [Message("system"), *messages]
        system = messages[0]
        text = f"{system.content.split(NOTE)[0]}{NOTE}{self._world.now():.3f}"
        return ctx, [replace(system, content=text), *messages[1:]]
