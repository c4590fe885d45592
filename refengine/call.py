"""One tool call: opened through its onion, told as an event, finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from refengine.context import Context
from refengine.errors import HookReturnError, ToolError, ToolResultTypeError
from refengine.events import AgentEvent, Chunk
from refengine.live import LiveStream
from refengine.messages import Message, ToolCall
from refengine.scope import SCOPE, LayerName, Scope
from refengine.stream import StreamReader
from refengine.tools import Options, ToolCallInput, ToolInfo
from refengine.toolset import BoundTool


class ToolCallRun:
    """One call of a tool that exists.

    ``text`` is the result once finished; ``error`` what ended the call instead.
    """

    __slots__ = (
        "_event",
        "_input",
        "_live",
        "_message",
        "_names",
        "_scope",
        "_tool",
        "call",
        "error",
        "text",
    )

    def __init__(
        self, call: ToolCall, tool: BoundTool, scope: Scope, options: Options
    ) -> None:
        self.call = call
        self.text: str | None = None
        self.error: Exception | None = None
        self._tool = tool
        self._scope = scope
        self._input = ToolCallInput(call.name, call.arguments, call.id, options)
        self._live: LiveStream[str] | None = None
        self._names: Sequence[LayerName] = ()
        self._message: Message | None = None
        self._event: AgentEvent | None = None

    @property
    def opened(self) -> bool:
        """Whether there is a result, or a stream of it."""
        return self.error is None and (self.text is not None or self._live is not None)

    @property
    def changed(self) -> tuple[str, str] | None:
        """The name and call id that a wrapper asked for in vain."""
        return self._scope.changed

    @property
    def final_call_id(self) -> str:
        """The call id that the outermost wrapper's input ended with."""
        return self._input.call_id

    async def open(self, ctx: Context, streaming: bool) -> None:
        """Go through the onion: to the result, or to a stream that is open."""
        endpoint, streams, self._names = self._tool.endpoint(streaming)
        token = SCOPE.set(self._scope)
        try:
            result = await endpoint(self._scope.innermost(ctx), self._input)
        except Exception as error:  # noqa: BLE001  # siblings run on; raised later
            self.error = self._leaving(error)
            await self._scope.close()
            return
        finally:
            SCOPE.reset(token)
            self._scope.compare(self._input, self.call.name)
            if self._scope.follows and self._scope.call_id is not None:
                self.call = replace(self.call, id=self._scope.call_id)
        if streams:
            self._live = LiveStream(result.result, self._scope)
        elif isinstance(result.result, str):
            self.text = result.result
        else:  # a wrapper's: what the tool itself returned was looked at
            owner = f"a wrapper around {self.call.name}"
            wanted = "a ToolCallResult with a text"
            hook = "wrap_invokable_tool_call"
            self.error = HookReturnError(owner, hook, result.result, wanted)

    async def finish(self) -> None:
        """Read a stream to its end; nothing to do for a plain result."""
        if self._live is None:
            return
        try:
            chunks = await self._live.drain()
        except Exception as error:  # noqa: BLE001  # siblings run on; the batch raises
            self.error = self._leaving(error)
            return
        try:
            self.text = "".join(chunks)
        except TypeError:
            wrong = next(each for each in chunks if not isinstance(each, str))
            self.error = ToolResultTypeError(self.call.name, wrong)

    async def close(self) -> None:
        """Close what is still open, if the run is left."""
        if self._live is not None:
            await self._live.close()

    def message(self) -> Message:
        """Return the tool message of the finished call."""
        if self._message is None:
            self._message = self._made_for(self.call.id)
        return self._message

    def event(self, call_id: str) -> AgentEvent:
        """Return the event as the consumer gets it, with a stream if one is open."""
        if self._live is None:
            self._event = self._snapshot(call_id)
            return self._event
        stream = cast("StreamReader[Chunk]", self._live.reader())
        path, action = self._scope.run_path, self._scope.action
        return AgentEvent("tool", path, call_id=call_id, stream=stream, action=action)

    def finished(self, call_id: str) -> AgentEvent:
        """Return the event in its finished form; a plain result's was that already."""
        return self._event or self._snapshot(call_id)

    def _made_for(self, call_id: str) -> Message:
        name = self.call.name
        return Message("tool", self.text or "", tool_call_id=call_id, name=name)

    def _snapshot(self, call_id: str) -> AgentEvent:
        chunks = None if self._live is None else tuple(self._live.chunks)
        message = None
        if self.text is not None:
            own = call_id == self.call.id
            message = self.message() if own else self._made_for(call_id)
        return AgentEvent(
            "tool",
            self._scope.run_path,
            message,
            call_id,
            chunks=chunks,
            action=self._scope.action,
        )

    def _leaving(self, error: Exception) -> Exception:
        if self._scope.is_innermost(error):
            made: Exception = ToolError(self.call.name, self.call.id, error)
        else:
            made = self._scope.leaving(error, self._names)
        if made is not error:
            made.__cause__ = error  # raised later, where ``from`` is out of reach
        return made


class AbsentCall(ToolCallRun):
    """A call of a tool that is not there; its result says so."""

    __slots__ = ()


class AbsentTool:
    """Stands for a tool that is not there (posture ``unknown_tool``)."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        self.info = ToolInfo(name)
        self._text = absent_text(name, available)

    async def invoke(self, *_: object) -> str:
        """Return what the model is told."""
        return self._text


def absent_text(name: str, available: Sequence[str]) -> str:
    """Return what the model is told that called a tool which is not there."""
    return f"There is no tool {name!r}; available: {', '.join(available) or 'none'}."
