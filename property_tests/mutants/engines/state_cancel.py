"""Engines that are wrong about how a run that was cancelled is left (RUN, ERR)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.events import AgentEvent
from refengine.loop import Loop
from refengine.messages import History, Message
from refengine.run import Run
from refengine.shared_stream import SharedStream
from refengine.tool_calls import CallBatch, ToolCallRun


def _completed(right: Callable[..., None]) -> Callable[..., None]:
    """End a run that was cancelled as one that succeeded."""

    def end(self: Run, status: Any = None, *more: AgentEvent) -> None:  # noqa: ANN401  # as the engine's
        right(self, "completed" if status == "cancelled" else status, *more)

    return end


def _told(right: Callable[..., Any]) -> Callable[..., Any]:
    """Tell a cancellation as the error that ended the run."""

    async def next_(self: Run) -> AgentEvent:
        try:
            event: AgentEvent = await right(self)
        except asyncio.CancelledError:
            self.outcome = None
            return self._fail(RuntimeError("cancelled"))
        return event

    return next_


def _dangling(_: object) -> Callable[[Loop], History]:
    return lambda self: self.history


def _unmarked(right: Callable[..., list[Message]]) -> Callable[..., list[Message]]:
    """Leave results that do not say that they are none."""

    def results(self: CallBatch) -> list[Message]:
        found = right(self)
        return [Message("tool", m.content, tool_call_id=m.tool_call_id) for m in found]

    return results


def _left_open(_: object) -> Callable[..., Any]:
    """Let streams be where they are, as somebody else's to close."""
    held: list[SharedStream[Any]] = []

    async def close(self: SharedStream[Any]) -> None:
        held.append(self)

    return close


def _abandoned(_: object) -> Callable[..., Any]:
    async def leave(self: CallBatch) -> None:
        """Leave calls running, for whoever wants them."""

    return leave


def _swallowed(right: Callable[..., Any]) -> Callable[..., Any]:
    """Take a cancellation inside a call for the end of that call."""

    async def open_(self: ToolCallRun, *given: Any) -> None:  # noqa: ANN401  # as the engine's
        task = asyncio.current_task()
        try:
            await right(self, *given)
        except asyncio.CancelledError:
            if task is not None:
                task.uncancel()
            self.text = "cancelled"

    return open_


def _broken(id_: str, about: str, clause: str, *patches: Patch) -> Mutant:
    return Mutant(id=id_, about=about, violates=(clause,), wrong=patched(id_, *patches))


MUTANTS: Final[tuple[Mutant, ...]] = (
    _broken(
        "cancelled-as-completed",
        "A run that was cancelled has the status completed.",
        "RUN-022",
        Patch(Run, "_end", _completed),
    ),
    _broken(
        "cancellation-told-as-error",
        "A consumer that cancels a run is told of an error.",
        "ERR-022",
        Patch(Run, "__anext__", _told),
    ),
    _broken(
        "dangling-call-left",
        "A cancelled run leaves a history in which a call has no result.",
        "RUN-023",
        Patch(Loop, "left_whole", _dangling),
    ),
    _broken(
        "no-result-unmarked",
        "The result of a call that was cancelled looks like any other.",
        "RUN-023",
        Patch(CallBatch, "results", _unmarked),
    ),
    _broken(
        "cancelled-streams-left-open",
        "Streams of a run that was cancelled are left open.",
        "RUN-024",
        Patch(SharedStream, "close", _left_open),
    ),
    _broken(
        "calls-abandoned",
        "Calls of a run that was cancelled are left running, and their wrappers too.",
        "RUN-025",
        Patch(CallBatch, "leave", _abandoned),
    ),
    _broken(
        "cancellation-swallowed",
        "A cancellation inside a call ends that call, and the run goes on.",
        "RUN-026",
        Patch(ToolCallRun, "open", _swallowed),
    ),
)
