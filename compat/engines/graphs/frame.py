"""What belongs to one run on a graph, wherever in the graph one stands.

A graph runs its nodes in tasks of its own. They inherit context variables, and neither
a model nor a tool is told of more than that.
"""

from __future__ import annotations

from collections.abc import Awaitable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeVar

from compat.engines.capabilities import CapabilityError
from refengine.chain import LayerName
from refengine.context import Context, RunLocals, at_point
from refengine.errors import HookError, ModelError, RefengineError, ToolError
from refengine.tools import Options, no_options

T = TypeVar("T")


class FrameworkError(RefengineError):
    """The framework itself raised: no hook, no model and no tool did."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(f"the framework raised {type(cause).__name__}: {cause}")


@dataclass(slots=True)
class Frame:
    """One run: whose it is, who raised what, and what cannot be told apart again.

    ``texts`` holds the arguments of calls as the model wrote them: the framework keeps
    only what they mean.
    """

    engine: str
    run_path: tuple[str, ...]
    options: Options = field(default_factory=no_options)
    locals: RunLocals = field(default_factory=dict[str, object])
    texts: dict[tuple[str, str, str], str] = field(
        default_factory=dict[tuple[str, str, str], str]
    )
    faults: dict[int, tuple[Exception, Exception]] = field(
        default_factory=dict[int, tuple[Exception, Exception]]
    )
    refusal: CapabilityError | None = None

    def context(self, call_id: str | None = None) -> Context:
        """Return the context of a point of this run."""
        return at_point(Context(), self.run_path, call_id, self.locals)

    def blame(self, error: Exception, reported: Exception) -> None:
        """Remember as what an error leaves the run; who saw it first counts."""
        self.faults.setdefault(id(error), (error, reported))

    def blame_hook(
        self,
        error: Exception,
        name: LayerName,
        *,
        tool: str | None = None,
        call_id: str | None = None,
    ) -> None:
        """Remember that a hook raised, unless it only let an error through."""
        reported = HookError(
            name.owner, name.position, name.hook, error, tool=tool, call_id=call_id
        )
        self.blame(error, reported)

    def blame_tool(self, error: Exception, tool: str, call_id: str) -> None:
        """Remember that a tool itself raised."""
        self.blame(error, ToolError(tool, call_id, error))

    def blame_model(self, error: Exception) -> None:
        """Remember that the model itself raised."""
        self.blame(error, ModelError(error))

    async def framework_may_raise(self, waiting: Awaitable[T]) -> T:
        """Return what the framework gives to a wrapper; its own errors are its own."""
        try:
            return await waiting
        except Exception as error:
            self.blame(error, FrameworkError(error))
            raise

    def refuse(self, capability: str, where: str) -> NoReturn:
        """End the run: it needs what the engine does not declare.

        Kept, too, because a wrapper may catch everything.
        """
        self.refusal = CapabilityError(self.engine, capability, where)
        raise self.refusal

    def stop_if_refused(self) -> None:
        """Raise the refusal, if there was one that somebody caught."""
        if self.refusal is not None:
            raise self.refusal

    def unchanged(self, ctx: Context, where: str) -> None:
        """Refuse a context that holds something: nobody would hand it on."""
        if any(True for _ in ctx.items()):
            self.refuse("context", where)

    def leaving(self, error: Exception) -> Exception:
        """Return the error as the run reports it."""
        if self.refusal is not None:
            return self.refusal
        if isinstance(error, RefengineError):
            return error
        _, reported = self.faults.get(id(error), (error, FrameworkError(error)))
        reported.__cause__ = error
        return reported


FRAME: Final[ContextVar[Frame]] = ContextVar("refengine_graph_frame")
