"""The public names of the Flow dialect, as ``compat.dialects.flow`` gives them."""

from compat.dialects.flow.agents import (
    CustomAgent,
    LlmAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from compat.dialects.flow.agents_as_tools import agent_tool
from compat.dialects.flow.artifacts import ArtifactService, InMemoryArtifactService
from compat.dialects.flow.content import (
    Blob,
    CodeResult,
    Content,
    FileData,
    FunctionCall,
    FunctionResponse,
    Part,
    PartialArg,
    text_content,
)
from compat.dialects.flow.contexts import (
    CallbackContext,
    InvocationContext,
    ReadonlyContext,
    ToolContext,
)
from compat.dialects.flow.converters import response_of
from compat.dialects.flow.events import Actions, Event, ToolConfirmation
from compat.dialects.flow.flow import Flow
from compat.dialects.flow.model import (
    FlowModel,
    FunctionDeclaration,
    GenerateConfig,
    LlmRequest,
    LlmResponse,
    Usage,
)
from compat.dialects.flow.plugins import Plugin
from compat.dialects.flow.processors import (
    DEFAULT_REQUEST_PROCESSORS,
    DEFAULT_RESPONSE_PROCESSORS,
)
from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.dialects.flow.runner import Runner
from compat.dialects.flow.sessions import (
    InMemorySessionService,
    Session,
    SessionService,
)
from compat.dialects.flow.sqlite import SqliteArtifactService, SqliteSessionService
from compat.dialects.flow.state import State
from compat.dialects.flow.streaming import AggregatedModel
from compat.dialects.flow.tools import Tool, Toolset, function_tool
from compat.dialects.flow.tree import Agent

__all__ = [
    "DEFAULT_REQUEST_PROCESSORS",
    "DEFAULT_RESPONSE_PROCESSORS",
    "Actions",
    "Agent",
    "AggregatedModel",
    "ArtifactService",
    "Blob",
    "CallbackContext",
    "CodeResult",
    "Content",
    "CustomAgent",
    "Event",
    "FileData",
    "Flow",
    "FlowModel",
    "FlowProfile",
    "FunctionCall",
    "FunctionDeclaration",
    "FunctionResponse",
    "GenerateConfig",
    "InMemoryArtifactService",
    "InMemorySessionService",
    "InvocationContext",
    "LlmAgent",
    "LlmRequest",
    "LlmResponse",
    "LoopAgent",
    "ParallelAgent",
    "Part",
    "PartialArg",
    "Plugin",
    "ReadonlyContext",
    "Runner",
    "SequentialAgent",
    "Session",
    "SessionService",
    "SqliteArtifactService",
    "SqliteSessionService",
    "State",
    "Tool",
    "ToolConfirmation",
    "ToolContext",
    "Toolset",
    "Usage",
    "agent_tool",
    "flow_profile",
    "function_tool",
    "response_of",
    "text_content",
]
