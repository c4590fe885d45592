"""What belongs to one model or tool call, wherever in the onion one stands.

A wrapper decides which context and input it hands on, so neither can carry what must
not be lost. A context variable can: it follows the call through hops to other tasks.
Handing the call through the layers instead would need an object a layer and call, and
that costs more than the layer.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast

from refengine.awaiting import STREAM_STRIDE
from refengine.context import Context, RunLocals, at_point
from refengine.errors import (
    HookError,
    HookReturnError,
    NotInToolCallError,
    RefengineError,
    StreamConsumedError,
)
from refengine.leaving import in_turn
from refengine.stream import StreamReader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from refengine.events import AgentAction
    from refengine.interrupts import Interrupt
    from refengine.model import ModelRequest
    from refengine.place import Place
    from refengine.tools import ToolCallInput
    from refengine.toolset import BoundTool

INNERMOST: Final = -1


class Scope:
    """One call: where it is, what it calls, and which layer raised what.

    ``follows`` tells that the call takes over an id that a wrapper gives it,
    ``raises_again`` that an interrupt which a wrapper keeps comes out all the same.
    """

    __slots__ = (
        "action",
        "call_id",
        "changed",
        "faults",
        "follows",
        "locals",
        "made",
        "place",
        "raises_again",
        "readers",
        "run_path",
        "shown",
        "stopped",
        "tool",
    )

    def __init__(
        self,
        run_path: tuple[str, ...],
        run_locals: RunLocals,
        tool: BoundTool | None = None,
        call_id: str | None = None,
        follows: bool = False,  # noqa: FBT002  # made for every call
        raises_again: bool = True,  # noqa: FBT002  # as follows
    ) -> None:
        self.run_path = run_path
        self.locals = run_locals
        self.tool = tool
        self.call_id = call_id
        self.faults: dict[int, tuple[BaseException, int]] | None = None
        self.made: RefengineError | None = None
        self.readers: list[StreamReader[Any]] = []
        self.shown: ModelRequest | None = None
        self.changed: tuple[str, str] | None = None
        self.action: AgentAction | None = None
        self.follows = follows
        self.raises_again = raises_again
        self.stopped: Interrupt | None = None
        self.place: Place | None = None

    def innermost(self, ctx: Context) -> Context:
        """Return the context as the tool or model sees it, with nothing lost."""
        return at_point(ctx, self.run_path, self.call_id, self.locals)

    def compare(self, value: ToolCallInput, name: str) -> None:
        """Keep a name or call id that a wrapper asked for in vain (contract WRAP)."""
        if value.name != name or value.call_id != self.call_id:
            self.changed = (value.name, value.call_id)

    def blame(
        self, error: BaseException, at: int, seen: BaseException | None = None
    ) -> None:
        """Remember which layer an error came from; the layers outside see it later.

        A wrapper may catch one error, get another and raise the first, so all are
        kept. ``seen`` is what is seen instead, if a stream's error wrapper replaced it.
        """
        if self.faults is None:
            self.faults = {}
        _, at = self.faults.setdefault(id(error), (error, at))
        if seen is not None:
            self.faults[id(seen)] = (seen, at)

    def own(self, error: RefengineError) -> RefengineError:
        """Mark an error that the engine made for this call: it leaves as it is."""
        self.made = error
        return error

    def leaving(self, error: Exception, layers: Sequence[LayerName]) -> Exception:
        """Return the error as it leaves the onion: wrapped once, by who raised it."""
        at = self._layer_of(error, INNERMOST)
        if error is self.made or at == INNERMOST:
            return error
        layer = layers[at]
        tool = None if self.tool is None else self.tool.info.name
        return HookError(
            layer.owner,
            layer.position,
            layer.hook,
            error,
            tool=tool,
            call_id=self.call_id,
        )

    def is_innermost(self, error: Exception) -> bool:
        """Tell whether the tool or model itself raised this error."""
        at = self._layer_of(error, 0)
        return at == INNERMOST and error is not self.made

    def _layer_of(self, error: Exception, unknown: int) -> int:
        faults = self.faults or {}
        return faults[id(error)][1] if id(error) in faults else unknown

    async def close(self) -> None:
        """Close the streams that wrappers, tool or model opened, outermost first."""
        if self.readers:
            await in_turn(self._closings())

    def _closings(self) -> Iterator[Callable[[], Awaitable[None]]]:
        while self.readers:
            yield self.readers.pop().aclose


class LayerName:
    """Whose layer it is, as errors and ``explain`` say it."""

    __slots__ = ("hook", "owner", "position")

    def __init__(self, owner: str, position: int, hook: str) -> None:
        self.owner = owner
        self.position = position
        self.hook = hook


SCOPE: Final[ContextVar[Scope]] = ContextVar("refengine_scope")


def look_after(reader: StreamReader[Any], at: int) -> None:
    """See that a new stream is closed with the call and its errors find their layer.

    One that a wrapper only passed on keeps who made it.
    """
    if reader._on_error is not None:  # noqa: SLF001  # engine
        return
    scope = SCOPE.get()
    reader._on_error = lambda error, seen: scope.blame(error, at, seen)  # noqa: SLF001  # engine
    # The outermost stream is read by LiveStream, which has looked at the depth itself.
    reader._deep = at > 0 and at % STREAM_STRIDE == 0  # noqa: SLF001  # engine
    scope.readers.append(reader)


def keep_stream(got: object, at: int, name: LayerName) -> None:
    """Look after the stream a layer gave.

    Raises HookReturnError if it is none, StreamConsumedError if it was read already.
    """
    scope = SCOPE.get()
    error: RefengineError
    if not isinstance(got, StreamReader):
        error = HookReturnError(name.owner, name.hook, got, "a StreamReader")
        raise scope.own(error)
    reader = cast("Any", got)  # mypy narrows it to what pyright cannot name
    if reader._spent:  # noqa: SLF001  # engine
        error = StreamConsumedError()
        scope.blame(error, at)
        raise error
    look_after(reader, at)


def attach_action(action: AgentAction) -> None:
    """Let an action travel on the event of the tool call around this point.

    For tools and tool wrappers (contract EVT); the last one counts. Raises
    NotInToolCallError elsewhere.
    """
    scope = SCOPE.get(None)
    if scope is None or scope.tool is None:
        raise NotInToolCallError
    scope.action = action
