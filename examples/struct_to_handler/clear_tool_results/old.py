"""Clears the results of old tool calls: a struct middleware."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refengine import AgentMiddleware, ChatModelAgentState, Context
from refengine.testing import World

KEEP: Final = 3
"""So many results stay as they are, the last ones."""
PROTECTED: Final = frozenset(("read_notes", "get_plan"))
"""Tools whose results stay for good."""
CLEARED: Final = "[old result cleared]"


def subject(_: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    return [AgentMiddleware(before_chat_model=clear)]


def clear(_: Context, state: ChatModelAgentState) -> None:
    """Clear all results but the last ones; a cleared one keeps its place and call."""
    results = [
        at
        for at, message in enumerate(state.messages)
        if message.role == "tool" and message.name not in PROTECTED
    ]
    for at in results[:-KEEP]:
        state.messages[at] = replace(state.messages[at], content=CLEARED)
