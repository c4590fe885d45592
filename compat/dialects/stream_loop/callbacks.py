"""The callbacks of a call of ``process_input``, and how they are called.

Those of the record, and two that it lacks: who is told of a failure, and who is told
how it ended where an exception comes out. Each may be async.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from compat.dialects.stream_loop.errors import CallbackFailedWarning
from compat.dialects.stream_loop.parts import PartEvent, PartsSnapshot
from compat.dialects.stream_loop.results import LoopResult, ToolResult
from refengine.awaiting import settled
from refengine.messages import ToolCall

ResponseCallback: TypeAlias = "Callable[[Any], object] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCallbacks:
    """What is told while a response comes; one that is None costs nothing."""

    on_chunk: Callable[[str], object] | None = None
    """each piece of text, as it came"""
    on_tool_call: Callable[[ToolCall], object] | None = None
    """a call whose arguments are complete"""
    on_tool_result: Callable[[ToolResult], object] | None = None
    """what became of a call, in the order of the calls"""
    on_part_event: Callable[[PartEvent], object] | None = None
    """each change of a part"""
    on_parts_change: Callable[[PartsSnapshot], object] | None = None
    """all parts after a change; a view that makes them when it is read"""
    on_error: Callable[[Exception, str], object] | None = None
    """an exception, and where it came from: a callback's name, or ``round``"""
    on_end: Callable[[LoopResult], object] | None = None
    """how it ended, once, whatever happened"""


NO_CALLBACKS: Final = ResponseCallbacks()


@final
class Telling:
    """Calls callbacks; with ``isolates`` one that raises does not reach the run."""

    __slots__ = ("callbacks", "isolates")

    def __init__(self, callbacks: ResponseCallbacks, *, isolates: bool) -> None:
        self.callbacks, self.isolates = callbacks, isolates

    async def tell(self, name: str, fact: object) -> None:
        """Call the callback of that name, if there is one."""
        callback: ResponseCallback = getattr(self.callbacks, name)
        if callback is None:
            return
        try:
            await settled(callback(fact))
        except Exception as error:
            if not self.isolates:
                raise
            await self.failed(error, name)

    async def failed(self, error: Exception, where: str) -> None:
        """Tell of an error, once; an error of that callback becomes a warning."""
        callback = self.callbacks.on_error
        if callback is None:
            return
        try:
            await settled(callback(error, where))
        except Exception as raised:
            if not self.isolates:
                raise
            text = f"on_error raised {raised!r} when it was told of {error!r}"
            warnings.warn(CallbackFailedWarning(text), stacklevel=2)
