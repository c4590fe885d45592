"""Wrong: a request may begin with the results of a tool, and is kept as a whole.

Not seen as long as each message of the user is a request of its own.
"""

from __future__ import annotations

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
    """Return the last turns."""
    said = [
        at
        for at, each in enumerate(messages)
        if isinstance(each, ModelRequest)
        and any(isinstance(part, UserPromptPart) for part in each.parts)
    ]
    return messages[said[-TURNS] :] if len(said) > TURNS else messages
