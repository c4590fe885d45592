"""Extensions of the Flow dialect in other interfaces' places (dialects.md, FLOW)."""

from compat.adapters.flow.handlers import (
    EngineModel,
    EngineTool,
    FlowStages,
    agent_to_config,
    engine_profile,
)
from compat.adapters.flow.plugins import (
    CallbackChange,
    CallbackPlace,
    PortedAgents,
    callbacks_to_plugins,
    changes_of,
)

__all__ = [
    "CallbackChange",
    "CallbackPlace",
    "EngineModel",
    "EngineTool",
    "FlowStages",
    "PortedAgents",
    "agent_to_config",
    "callbacks_to_plugins",
    "changes_of",
    "engine_profile",
]
