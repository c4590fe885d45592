"""Events: what the consumer of a run receives (contract EVT)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from refengine.interrupts import Pending
from refengine.messages import NOTHING, Json, Message, MessageChunk
from refengine.stream import StreamReader

EventKind: TypeAlias = Literal["model", "tool", "error", "interrupt"]
Chunk: TypeAlias = "MessageChunk | str"


@dataclass(frozen=True, init=False)
class AgentEvent:
    """A model response, a tool result, the error that ended the run, or what it asks.

    An event is a snapshot. If its response is streamed it comes when the stream opens:
    ``stream`` can be read while ``message`` is still None. ``RunResult.events`` holds
    the finished form, with ``message`` and the ``chunks`` it came in.
    """

    kind: EventKind
    run_path: tuple[str, ...]
    message: Message | None
    call_id: str | None
    stream: StreamReader[Chunk] | None
    chunks: tuple[Chunk, ...] | None
    error: Exception | None
    action: AgentAction | None
    partial: bool
    interrupts: tuple[Pending, ...]

    def __init__(  # noqa: PLR0913  # one for each field
        self,
        kind: EventKind,
        run_path: tuple[str, ...],
        message: Message | None = None,
        call_id: str | None = None,
        *,
        stream: StreamReader[Chunk] | None = None,
        chunks: tuple[Chunk, ...] | None = None,
        error: Exception | None = None,
        action: AgentAction | None = None,
        partial: bool = False,
        interrupts: tuple[Pending, ...] = (),
    ) -> None:
        # A frozen dataclass sets its fields one by one past its own guard, which takes
        # four times as long, and a run makes an event for each thing it does.
        own = self.__dict__
        own["kind"] = kind
        own["run_path"] = run_path
        own["message"] = message
        own["call_id"] = call_id
        own["stream"] = stream
        own["chunks"] = chunks
        own["error"] = error
        own["action"] = action
        own["partial"] = partial
        own["interrupts"] = interrupts


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the engine did that nobody else can see.

    ``ignored_change``: a wrapper changed a name or call id. ``tools_removed``: a
    handler left fewer tools than it got. ``warning``: what was also given as a Python
    warning.
    """

    kind: Literal["ignored_change", "tools_removed", "warning"]
    data: Mapping[str, Json]
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentAction:
    """What a tool asks of the run besides its result; it travels on its event.

    The engine carries it and does not act on it: the dialects of seeds 002 to 004 do.
    """

    exit: bool = False
    transfer_to: str | None = None
    break_loop: bool = False
    state_delta: Mapping[str, Json] = field(default=NOTHING, hash=False)
