"""What belongs to one run on a graph, wherever in the graph one stands.

A graph runs its nodes in tasks of its own. They inherit context variables, and neither
a model nor a tool is told of more than that.

The framework keeps the arguments of calls parsed; a world asks for the text. What the
model wrote is kept with the run, and what a wrapper wrote with the call that it passes
inwards.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from compat.engines.frame import FrameRefusals
from refengine.chain import LayerName
from refengine.context import Context, RunLocals, at_point
from refengine.errors import HookError, ModelError, RefengineError, ToolError
from refengine.messages import ToolCall
from refengine.testing.blaming import FrameworkError
from refengine.tools import Options, no_options

T = TypeVar("T")

_Key: TypeAlias = tuple[str, str, str]
"""Id and name of a call, and what its arguments mean, however they were written."""


@dataclass(slots=True)
class Frame(FrameRefusals):
    """One run: whose it is, who raised what, and what cannot be told apart again.

    ``texts`` holds the arguments of calls as the model wrote them: the framework keeps
    only what they mean.
    """

    run_path: tuple[str, ...]
    options: Options = field(default_factory=no_options)
    locals: RunLocals = field(default_factory=dict[str, object])
    texts: dict[_Key, str] = field(default_factory=dict[_Key, str])
    faults: dict[int, tuple[Exception, Exception]] = field(
        default_factory=dict[int, tuple[Exception, Exception]]
    )

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


def their_arguments(frame: Frame, call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments parsed; their text is found again by ``our_call``."""
    args = frame.parsed(call)
    frame.texts[_key({"id": call.id, "name": call.name, "args": args})] = call.arguments
    return args


def our_call(frame: Frame, call: Mapping[str, Any]) -> ToolCall:
    """Return a call with its arguments as they were written, if that is known."""
    key = _key(call)
    return _written(key, call, frame.texts.get(key))


_PASSED: Final[ContextVar[tuple[Frame, _Key, str] | None]] = ContextVar(
    "refengine_graph_passed", default=None
)
"""The run, the call that the wrapper around it passed inwards, and how it was written.

What a wrapper writes is for the wrappers inside it and the tool alone. Kept with the
texts of the run, it would be taken for what the model wrote, which may be the same in
another notation; kept with the arguments, it is lost where the framework copies them.
"""


@contextmanager
def passing(
    frame: Frame, call: Mapping[str, Any], text: str
) -> Generator[None, None, None]:
    """Have what runs inside find how the arguments of this call were written."""
    token = _PASSED.set((frame, _key(call), text))
    try:
        yield
    finally:
        _PASSED.reset(token)


def passed_call(frame: Frame, call: Mapping[str, Any]) -> ToolCall:
    """Return a call as a wrapper of ours passed it, or as ``our_call`` has it."""
    key, passed = _key(call), _PASSED.get()
    if passed is not None and passed[0] is frame and passed[1] == key:
        return _written(key, call, passed[2])
    return _written(key, call, frame.texts.get(key))


def _written(key: _Key, call: Mapping[str, Any], text: str | None) -> ToolCall:
    return ToolCall(*key[:2], json.dumps(call["args"]) if text is None else text)


def _key(call: Mapping[str, Any]) -> _Key:
    meant = json.dumps(call["args"], sort_keys=True)
    return str(call["id"] or ""), str(call["name"]), meant
