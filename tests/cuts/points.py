"""Points at which a world can be cut: in real hooks, wrappers and tools, in order.

A world is dressed with them (as ``refengine.testing.observers`` does to count). Each
point has a number, by the order in which they are first passed. A cut is an interrupt
there; what is entered again passes the points it had passed without a new number.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, cast

from refengine.errors import HookError, ModelError, ToolError
from refengine.events import AgentEvent, Chunk
from refengine.interrupts import ENTERED, Interrupt, interrupt, is_reentry
from refengine.messages import Json, Message
from refengine.profile import SEED_001, Profile
from refengine.resume.errors import JournalledError
from refengine.stream import StreamReader
from refengine.testing.points import class_of, point_of
from refengine.testing.recorder import Recorder
from refengine.testing.scripted import ScriptedError
from refengine.testing.session import whole
from refengine.testing.trace import ObservationKind, Trace
from refengine.testing.wrapping import FactoryError

NOTHING: Final[Mapping[str, Inside]] = MappingProxyType({})
INSIDE: Final[ContextVar[Mapping[str, Inside]]] = ContextVar(
    "resuming_inside", default=NOTHING
)
"""What is entered around this point, by key: factories share one inner endpoint."""
CALLED: Final[ContextVar[str]] = ContextVar("resuming_called", default="")
"""Which call of ``next`` this is within, of those that the wrappers around it made."""
QUIET: Final[ContextVar[bool]] = ContextVar("resuming_quiet", default=False)
"""Set while a tool or a hook does again what it did before it was interrupted."""


class CutError(AssertionError):
    """The engine broke a promise that has nothing to do with what the world saw."""


class Cutter:
    """Numbers the points of one session and cuts it at some of them.

    ``labels`` are the points in order. ``asked`` are the cuts by what was entered and
    the place in it, ``answers`` what was answered, ``passed`` how many points stand
    before the one at which something was interrupted.
    """

    def __init__(self, cuts: Iterable[int] = ()) -> None:
        self.cuts = frozenset(cuts)
        self.labels: list[str] = []
        self.asked: dict[str, dict[int, int]] = {}
        self.passed: dict[str, int] = {}
        self.answers: dict[int, Json] = {}
        self.heard: frozenset[int] = frozenset()

    @property
    def hit(self) -> frozenset[int]:
        """The cuts that were made."""
        return frozenset(each for each in self.cuts if each <= len(self.labels))

    def enter(self, key: str, phase: str, *, leaf: bool = False) -> Inside:
        """Return one entry into what ``key`` names; a ``leaf`` calls nothing within."""
        return Inside(self, key, phase, leaf=leaf)

    def over(self) -> None:
        """Forget what a run was interrupted in: it has ended."""
        self.asked.clear()
        self.passed.clear()

    def written(self) -> dict[str, Any]:
        """Return it as JSON values, for another process."""
        return {
            "labels": self.labels,
            "asked": {
                key: {str(at): cut for at, cut in each.items()}
                for key, each in self.asked.items()
            },
            "passed": self.passed,
        }

    def read(self, data: Mapping[str, Any]) -> None:
        """Take over what another process wrote."""
        self.labels = list(data["labels"])
        self.passed = dict(data["passed"])
        self.asked = {
            key: {int(at): cut for at, cut in each.items()}
            for key, each in data["asked"].items()
        }


class Inside:
    """One entry into a hook, a wrapper or a tool; it is left as a context manager."""

    def __init__(self, cutter: Cutter, key: str, phase: str, *, leaf: bool) -> None:
        self._cutter = cutter
        self._name = key
        self._key = f"{CALLED.get()}{key}"
        self._phase = phase
        self._leaf = leaf
        self._at = 0
        self._calls = 0
        self._stopped: int | None = None
        self._known = cutter.passed.pop(self._key, 0)
        self._tokens: list[tuple[ContextVar[Any], Token[Any]]] = []
        if is_reentry() != bool(self._known):
            raise CutError(f"{self._key}: is_reentry() is {is_reentry()}")

    def __enter__(self) -> Self:
        around: dict[str, Inside] = {**INSIDE.get(), self._name: self}
        self._tokens = [(INSIDE, INSIDE.set(around))]
        quiet = self._leaf and bool(self._known)
        self._tokens.append((QUIET, QUIET.set(quiet)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for variable, token in reversed(self._tokens):
            variable.reset(token)
        if isinstance(error, Interrupt):
            self.stopped()
        if self._stopped is not None:
            self._cutter.passed[self._key] = max(self._stopped, self._known)
        else:
            self._cutter.asked.pop(self._key, None)

    def stopped(self) -> None:
        """Note that an interrupt came by, which the hook may not let out.

        What the hook does after it is done once more, so its points are not new.
        """
        if self._stopped is None:
            self._stopped = self._at

    @contextmanager
    def calling(self) -> Generator[None, None, None]:
        """Be within a call of ``next``."""
        self._calls += 1
        token = CALLED.set(f"{self._key} #{self._calls} / ")
        try:
            yield
        except Interrupt:
            self.stopped()
            raise
        finally:
            CALLED.reset(token)

    def point(self, name: str) -> None:
        """Pass a point: cut here if it is one of the cuts, or hear the answer."""
        if self._stopped is not None:
            return
        self._at += 1
        cutter = self._cutter
        cut = cutter.asked.get(self._key, {}).get(self._at)
        if self._at > self._known:
            cutter.labels.append(f"{self._phase} {name}")
            if len(cutter.labels) in cutter.cuts:
                cut = len(cutter.labels)
                cutter.asked.setdefault(self._key, {})[self._at] = cut
        if cut is not None:
            self._ask(cut)
        if self._leaf and self._at == self._known:
            QUIET.set(False)
            if self._at == 1:  # nothing that the world counts has been done before
                cast("Any", ENTERED.get()).reentry = False

    def _ask(self, cut: int) -> None:
        try:
            heard = interrupt({"cut": cut})
        except Interrupt:
            self.stopped()
            raise
        if heard != self._cutter.answers.get(cut):
            wanted = self._cutter.answers.get(cut)
            raise CutError(f"cut {cut} was answered {wanted!r}, and heard {heard!r}")
        self._cutter.heard |= {cut}


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
        "result_events",
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
