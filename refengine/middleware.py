"""The struct middleware: the interface before the refactor (seed 001 §1.1).

The engine runs it natively, under every profile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from refengine.context import Context
from refengine.messages import Message
from refengine.tools import Tool, ToolMiddleware


@dataclass(slots=True)
class ChatModelAgentState:
    """The messages that a struct middleware's model hooks edit in place.

    Which hooks share one object is a posture (``state_object``).
    """

    messages: list[Message]


ModelHook: TypeAlias = Callable[
    [Context, ChatModelAgentState], "Awaitable[None] | None"
]


@dataclass(frozen=True, slots=True)
class AgentMiddleware:
    """A struct of fields and callbacks; every field may be left out."""

    additional_instruction: str = ""
    additional_tools: Sequence[Tool] = ()
    before_chat_model: ModelHook | None = None
    after_chat_model: ModelHook | None = None
    wrap_tool_call: ToolMiddleware = ToolMiddleware()
