"""What is put down of a world that is cut, and how it is played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from refengine.errors import HookError, ModelError, ToolError
from refengine.events import AgentEvent, Chunk
from refengine.messages import Message
from refengine.profile import SEED_001, Profile
from refengine.resume.errors import JournalledError
from refengine.stream import StreamReader
from refengine.testing.points import class_of, point_of
from refengine.testing.recorder import Recorder
from refengine.testing.scripted import ScriptedError
from refengine.testing.session import whole
from refengine.testing.trace import ObservationKind, Trace
from refengine.testing.wrapping import FactoryError
from tools.resuming.points import QUIET

Way: TypeAlias = Literal["native", "adapted"]
"""Whether struct middlewares are run as they are, or as handlers."""
Answering: TypeAlias = Literal["none", "all", "first", "last"]
"""Who is answered: all with None, all, or the first or last of those who ask."""
_SEEN: Final = frozenset(
    (
        "build_error",
        "run_start",
        "run_end",
        "model_request",
        "model_response",
        "tool_start",
        "event",
        "caller_object_changed",
    )
)
"""What the channels of same-effects look at, of a world without subjects."""
_CLASSES: Final = MappingProxyType(
    {each.__name__: each for each in (ScriptedError, FactoryError)}
)
"""What an error that comes again can have been, here: its class does not come back."""


class RelationRecorder(Recorder):
    """Puts down what relations look at, and nothing that is done again."""

    def add(
        self,
        kind: ObservationKind,
        data: Mapping[str, object],
        call_id: str | None = None,
    ) -> None:
        """Put down one observation of the current run."""
        if kind in _SEEN and not QUIET.get():
            super().add(kind, data, call_id)

    def note(self, entry: Mapping[str, object], call_id: str | None = None) -> None:
        """Leave out what an operation recorded: no relation below looks at it."""


@dataclass(frozen=True, slots=True)
class How:
    """How a world is played: under which profile, and who is answered when."""

    profile: Profile = SEED_001
    way: Way = "native"
    answering: Answering = "all"


@dataclass(slots=True)
class PlayedWithCuts:
    """What a world came to: its trace, and how its interrupts were answered.

    ``lost`` are runs in which something asked, but which ended with an error all the
    same: that of a sibling.
    """

    trace: Trace
    resumed: int = 0
    waited: int = 0
    lost: list[int] = field(default_factory=list[int])


def failed(error: Exception) -> dict[str, Any]:
    """Return point and class of an error; one that comes again says what it was."""
    if isinstance(error, (HookError, ToolError, ModelError)):
        cause = error.cause
        if isinstance(cause, JournalledError):
            error.cause = _CLASSES[cause.kind](str(cause))
    return {"error": point_of(error), "class": class_of(error)}


async def told(event: AgentEvent) -> dict[str, Any]:
    """Return what the consumer got; a stream is read to its end here."""
    seen: dict[str, Any] = {"kind": event.kind}
    if event.action is not None:
        seen["action"] = event.action
    if event.error is not None:
        return {**seen, **failed(event.error)}
    if event.stream is None:
        parts: list[Chunk | Message] = [event.message] if event.message else []
        return {**seen, "whole": whole(parts)}
    chunks, broke = await _read(event.stream)
    more = {"stream_error": True} if broke else {}
    return {**seen, "whole": whole(chunks), **more}


async def _read(stream: StreamReader[Chunk]) -> tuple[list[Chunk], bool]:
    chunks: list[Chunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)  # noqa: PERF401  # those before a failure count
    except Exception:  # noqa: BLE001  # what the consumer would have got
        return chunks, True
    return chunks, False
