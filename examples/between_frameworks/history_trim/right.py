"""Forgets all but the last turns: the built-in for histories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from refengine.testing import World

TURNS: Final = 3
"""So many messages of the user are kept, with what follows each."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[ProcessHistory[Any](shown)],
    )


def shown(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return the last turns; each begins with a part of a request."""
    parts = [
        (at, place)
        for at, each in enumerate(messages)
        if isinstance(each, ModelRequest)
        for place, part in enumerate(each.parts)
        if isinstance(part, UserPromptPart)
    ]
    if len(parts) <= TURNS:
        return messages
    at, place = parts[-TURNS]
    first = messages[at]
    return [replace(first, parts=first.parts[place:]), *messages[at + 1 :]]
