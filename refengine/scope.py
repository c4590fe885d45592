"""What belongs to one model or tool call, wherever in the onion one stands.

A wrapper decides which context and input it hands on, so neither can carry what must
not be lost. A context variable can: it follows the call through hops to other tasks.
Handing the call through the layers instead would need an object a layer and call, and
that costs more than the layer.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast

from refengine.context import Context, RunLocals
from refengine.errors import HookError, HookReturnError, NotInToolCallError
from refengine.flat import STREAM_STRIDE
from refengine.stream import StreamReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refengine.events import AgentAction
    from refengine.model import ModelRequest
    from refengine.toolset import BoundTool

INNERMOST: Final = -1


class Scope:
    """One call: where it is, what it calls, and which layer failed first."""

    __slots__ = (
        "action",
        "call_id",
        "changed",
        "fault",
        "fault_at",
        "locals",
        "readers",
        "run_path",
        "shown",
        "tool",
    )

    def __init__(
        self,
        run_path: tuple[str, ...],
        run_locals: RunLocals,
        tool: BoundTool | None = None,
        call_id: str | None = None,
    ) -> None:
        self.run_path = run_path
        self.locals = run_locals
        self.tool = tool
        self.call_id = call_id
        self.fault: BaseException | None = None
        self.fault_at = INNERMOST
        self.readers: list[StreamReader[Any]] = []
        self.shown: ModelRequest | None = None
        self.changed: tuple[str, str] | None = None
        self.action: AgentAction | None = None

    def innermost(self, ctx: Context) -> Context:
        """Return the context as the tool or model sees it, with nothing lost."""
        return ctx._placed(self.run_path, self.call_id, self.locals)  # noqa: SLF001  # engine

    def blame(
        self, error: BaseException, at: int, seen: BaseException | None = None
    ) -> None:
        """Remember which layer an error came from; the layers outside see it later.

        ``seen`` is what they see instead, if a stream's error wrapper replaced it.
        """
        if self.fault is not error:
            self.fault = error
            self.fault_at = at
        if seen is not None:
            self.fault = seen

    def leaving(self, error: Exception, layers: Sequence[LayerName]) -> Exception:
        """Return the error as it leaves the onion: wrapped once, by who raised it."""
        if isinstance(error, HookReturnError) or not self._saw(error):
            return error
        layer = layers[self.fault_at]
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
        return self._saw(error) and self.fault_at == INNERMOST

    def _saw(self, error: Exception) -> bool:
        return self.fault is error


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
    """Look after the stream a layer gave; raises HookReturnError if it is none."""
    if isinstance(got, StreamReader):
        look_after(cast("Any", got), at)
        return
    error = HookReturnError(name.owner, name.hook, got, "a StreamReader")
    SCOPE.get().blame(error, at)
    raise error


def attach_action(action: AgentAction) -> None:
    """Let an action travel on the event of the tool call around this point.

    For tools and tool wrappers (contract EVT); the last one counts. Raises
    NotInToolCallError elsewhere.
    """
    scope = SCOPE.get(None)
    if scope is None or scope.tool is None:
        raise NotInToolCallError
    scope.action = action
