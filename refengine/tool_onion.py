"""The onion around each tool: the layers around calls of each kind.

Nesting, outermost first: tools config ⟩ struct middlewares ⟩ handlers (contract ORD).
What handlers wrap does not depend on the tool, so that part is compiled once for all
tools; factories are given an endpoint a tool, so theirs is compiled a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from refengine.chain import (
    INNERMOST,
    SCOPE,
    Call,
    CallScope,
    KeptCalls,
    Layer,
    LayerName,
    Onion,
)
from refengine.context import Context
from refengine.errors import ToolResultTypeError
from refengine.interrupts import Interrupt
from refengine.shared_stream import keep_stream, look_after
from refengine.stream import StreamReader
from refengine.tools import (
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolMeta,
)

Factory: TypeAlias = Callable[[ToolInfo, Any], Any]  # (info, endpoint) -> endpoint
Kind: TypeAlias = Literal["invokable", "streamable"]


class ToolLayer:
    """One extension's layer around tool calls: a wrapper, or a factory a tool."""

    __slots__ = ("factory", "name", "wrap")

    def __init__(
        self,
        name: LayerName,
        *,
        wrap: Callable[..., Any] | None = None,
        factory: Factory | None = None,
    ) -> None:
        self.name: LayerName = name
        self.wrap: Callable[..., Any] | None = wrap
        self.factory: Factory | None = factory

    def per_call(self) -> ToolLayer:
        """Return this layer with its factory called anew in every call."""
        factory = self.factory
        if factory is None:
            return self

        async def wrap(ctx: Context, value: ToolCallInput, inner: Call) -> object:
            tool = SCOPE.get().tool
            info = ToolInfo(value.name) if tool is None else tool.info
            return await factory(info, inner)(ctx, value)

        return ToolLayer(self.name, wrap=wrap)

    def apart(self) -> ToolLayer:
        """Return this layer with an input of its own, unless a factory makes it.

        What a wrapper writes into that, the layers around it never see.
        """
        inside = self.wrap
        if inside is None:
            return self
        around = inside

        def wrap(ctx: Context, value: ToolCallInput, inner: Call) -> object:
            return around(ctx, replace(value), inner)

        return ToolLayer(self.name, wrap=wrap)

    def bound(self, info: ToolInfo) -> Layer:
        """Return the layer for one tool."""
        factory = self.factory
        if factory is None:
            return Layer(self.name, wrap=self.wrap)
        return Layer(self.name, bind=lambda inner: factory(info, inner))


class ToolOnion:
    """The compiled layers around calls of one kind."""

    __slots__ = ("_inner", "_onion", "_outer", "names")

    def __init__(
        self, kind: Kind, layers: Sequence[ToolLayer], *, kept: KeptCalls | None = None
    ) -> None:
        innermost: Call = invoke_tool
        self._onion = Onion(ToolCallResult, kept=kept)
        if kind == "streamable":
            innermost = stream_tool
            self._onion = Onion(StreamToolCallResult, _keep, kept=kept)
        if kept is not None:
            innermost = kept.kept_call("tool", innermost)
        self.names: tuple[LayerName, ...] = tuple(layer.name for layer in layers)
        shared = len(layers)
        while shared and layers[shared - 1].factory is None:
            shared -= 1
        self._outer = tuple(layers[:shared])
        inner = [Layer(each.name, wrap=each.wrap) for each in layers[shared:]]
        self._inner = self._onion.compile(inner, innermost, shared)

    def bind(self, info: ToolInfo) -> Call:
        """Return the endpoint of one tool; calls each factory once."""
        outer = [layer.bound(info) for layer in self._outer]
        return self._onion.compile(outer, self._inner)


class BoundTool:
    """A tool with the onions around it."""

    __slots__ = ("_invokable", "_names", "_streamable", "info", "invoke", "stream")

    def __init__(self, meta: ToolMeta, invokable: ToolOnion, stream: ToolOnion) -> None:
        self.info: ToolInfo = meta.tool.info
        self.invoke: Any = getattr(meta.tool, "invoke", None)
        self.stream: Any = getattr(meta.tool, "stream", None)
        self._names = (invokable.names, stream.names)
        self._streamable = None if self.stream is None else stream.bind(self.info)
        self._invokable = None if self.invoke is None else invokable.bind(self.info)

    def endpoint(self, streaming: bool) -> tuple[Call, bool, Sequence[LayerName]]:
        """Return what to call, whether it gives a stream, and its layers' names.

        The tool's kind selects; a tool with both follows the run (contract STR).
        """
        if self._streamable is not None and (streaming or self._invokable is None):
            return self._streamable, True, self._names[1]
        if self._invokable is None:  # as_meta refused tools without a method
            raise AssertionError(self.info.name)
        return self._invokable, False, self._names[0]


def failed_text(error: Exception) -> str:
    """Return the result of a call that failed (posture ``wrapper_raises``)."""
    return f"Error: {error}"


async def invoke_tool(ctx: Context, value: ToolCallInput) -> ToolCallResult:
    """Invoke the tool itself, inside of all wrappers."""
    scope, tool, ctx = arrive(ctx, value)
    try:
        result = await tool.invoke(ctx, value.arguments, value.call_options)
    except Exception as error:
        if scope.answers:
            return ToolCallResult(failed_text(error))
        scope.blame(error, INNERMOST)
        raise
    except Interrupt as stop:
        stop.leaves("tool", tool.info.name)
        scope.stopped = stop
        raise
    if not isinstance(result, str):
        raise scope.own(ToolResultTypeError(tool.info.name, result))
    return ToolCallResult(result)


async def stream_tool(ctx: Context, value: ToolCallInput) -> StreamToolCallResult:
    """Open the stream of the tool itself, inside of all wrappers."""
    scope, tool, ctx = arrive(ctx, value)
    try:
        reader = await tool.stream(ctx, value.arguments, value.call_options)
    except Exception as error:
        scope.blame(error, INNERMOST)
        raise
    except Interrupt as stop:
        stop.leaves("tool", tool.info.name)
        scope.stopped = stop
        raise
    if not isinstance(reader, StreamReader):
        raise scope.own(ToolResultTypeError(tool.info.name, reader))
    chunks = cast("StreamReader[str]", reader)
    look_after(chunks, INNERMOST)
    return StreamToolCallResult(chunks)


def arrive(ctx: Context, value: ToolCallInput) -> tuple[CallScope, BoundTool, Context]:
    """Return what the innermost point goes by, whatever the wrappers handed on.

    What fails here is the last wrapper's doing and not the tool's.
    """
    scope = SCOPE.get()
    if scope.stopped is not None and scope.raises_again:
        raise scope.stopped  # a wrapper caught it and went on
    tool = cast("BoundTool", scope.tool)  # a tool onion is entered with one
    if scope.follows:
        scope.call_id = value.call_id
    scope.compare(value, tool.info.name)
    return scope, tool, scope.innermost(ctx)


def _keep(result: StreamToolCallResult, at: int, name: LayerName) -> None:
    keep_stream(result.result, at, name)
