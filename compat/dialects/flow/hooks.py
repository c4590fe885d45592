"""The hooks of callbacks and plugins: their types, names, and what they may give.

Callbacks of an agent and fields of a plugin have the same types, so that a migration
from the one to the other moves a function, and changes its scope. Each may be async.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from compat.dialects.flow.content import Content
from compat.dialects.flow.contexts import (
    CallbackContext,
    InvocationContext,
    ToolContext,
)
from compat.dialects.flow.events import Event
from compat.dialects.flow.model import LlmRequest, LlmResponse
from compat.dialects.flow.tools import Tool

Args: TypeAlias = "dict[str, Any]"

UserMessageHook: TypeAlias = Callable[[InvocationContext, Content], object]
RunHook: TypeAlias = Callable[[InvocationContext], object]
EventHook: TypeAlias = Callable[[InvocationContext, Event], object]
AgentHook: TypeAlias = Callable[[CallbackContext], object]
BeforeModel: TypeAlias = Callable[[CallbackContext, LlmRequest], object]
AfterModel: TypeAlias = Callable[[CallbackContext, LlmResponse], object]
OnModelError: TypeAlias = Callable[[CallbackContext, LlmRequest, Exception], object]
BeforeTool: TypeAlias = Callable[[ToolContext, Tool, Args], object]
AfterTool: TypeAlias = Callable[
    [ToolContext, Tool, Args, Any, "Exception | None"], object
]
"""Is given what the tool gave, and the error that nobody recovered."""
OnToolError: TypeAlias = Callable[[ToolContext, Tool, Args, Exception], object]

GIVES: Final[Mapping[str, tuple[type, ...]]] = {
    "on_user_message": (Content,),
    "before_run": (Content,),
    "on_event": (Event,),
    "before_agent": (Content,),
    "after_agent": (Content,),
    "before_model": (LlmResponse,),
    "after_model": (LlmResponse,),
    "on_model_error": (LlmResponse,),
    "before_tool": (Mapping,),
    "after_tool": (Mapping,),
    "on_tool_error": (Mapping,),
}
"""What a hook may give back besides None; one that is missing may give anything."""
