"""Adds a rule to the instruction, and what is true now: a struct middleware."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refengine import AgentMiddleware, ChatModelAgentState, Context, Message
from refengine.testing import World

RULE: Final = "Answer in one sentence."
NOTE: Final = "\n\nSeconds since the session began: "


def subject(world: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""

    def note(_: Context, state: ChatModelAgentState) -> None:
        if not state.messages or state.messages[0].role != "system":
            state.messages.insert(0, Message("system"))
        system = state.messages[0]
        text = f"{system.content.split(NOTE)[0]}{NOTE}{world.now():.3f}"
        state.messages[0] = replace(system, content=text)

    return [AgentMiddleware(additional_instruction=RULE, before_chat_model=note)]
