"""Adds a rule to the instruction, and what is true now: capability methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from refengine import Context, Message
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

    def modify_instruction(self, _: Context, instruction: str) -> str:
        """Add the rule as a line, also to an empty instruction."""
        return f"{instruction}\n{RULE}"

    def pre_process_message_state(
        self, _: Context, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """Put the note into the system message, in the place of the last one."""
        system, rest = Message("system"), messages
        if messages and messages[0].role == "system":
            system, rest = messages[0], messages[1:]
        text = f"{system.content.partition(NOTE)[0]}{NOTE}{self._world.now():.3f}"
        return [replace(system, content=text), *rest]
