"""The public names of the dialect, as ``compat.dialects.stream_loop`` gives them."""

from compat.dialects.stream_loop.callbacks import ResponseCallbacks
from compat.dialects.stream_loop.limits import Limits
from compat.dialects.stream_loop.linear import LinearProcessor, ProcessParams
from compat.dialects.stream_loop.loop import LoopProcessor
from compat.dialects.stream_loop.parts import (
    Part,
    PartEvent,
    PartsSnapshot,
    PartsTracker,
    folded,
)
from compat.dialects.stream_loop.profile import LoopProfile, loop_profile
from compat.dialects.stream_loop.results import (
    IterationResult,
    LoopResult,
    ToolOutput,
    ToolResult,
)

__all__ = [
    "IterationResult",
    "Limits",
    "LinearProcessor",
    "LoopProcessor",
    "LoopProfile",
    "LoopResult",
    "Part",
    "PartEvent",
    "PartsSnapshot",
    "PartsTracker",
    "ProcessParams",
    "ResponseCallbacks",
    "ToolOutput",
    "ToolResult",
    "folded",
    "loop_profile",
]
