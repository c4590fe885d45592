"""The Flow dialect: processors around a model, with callbacks and plugins.

Seed 003 describes it. Its extension points are processors of a request, callbacks of an
agent and plugins of a runner.
"""

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
from compat.dialects.flow.events import Actions, Event, ToolConfirmation
from compat.dialects.flow.model import (
    FlowModel,
    FunctionDeclaration,
    GenerateConfig,
    LlmRequest,
    LlmResponse,
    Usage,
)
from compat.dialects.flow.profile import FlowProfile, flow_profile

__all__ = [
    "Actions",
    "Blob",
    "CodeResult",
    "Content",
    "Event",
    "FileData",
    "FlowModel",
    "FlowProfile",
    "FunctionCall",
    "FunctionDeclaration",
    "FunctionResponse",
    "GenerateConfig",
    "LlmRequest",
    "LlmResponse",
    "Part",
    "PartialArg",
    "ToolConfirmation",
    "Usage",
    "flow_profile",
    "text_content",
]
