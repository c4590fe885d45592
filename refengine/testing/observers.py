"""Observing a subject: how often each of its hooks ran, and what its own tools did.

A verdict names the hooks that no world entered, so every hook is counted by a layer of
its own around it. The layer passes everything through, plain functions as plain ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from refengine.awaiting import is_async
from refengine.context import Context
from refengine.hooks import LOW_LEVEL, AnyHook, hooks_of
from refengine.interrupts import is_reentry
from refengine.stream import StreamReader
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.recorder import Recorder, snapshot
from refengine.testing.scripted import RecordingTool
from refengine.tools import Options, ToolMeta, ToolMiddleware

T = TypeVar("T")
Count = Callable[[], None]


class HookWatch:
    """Counts the entries of hooks by their names; 0 until one is entered."""

    def __init__(self) -> None:
        self.hooks: dict[str, int] = {}
        self.names: set[str] = set()

    def middleware(self, struct: AgentMiddleware, at: int) -> AgentMiddleware:
        """Return the struct middleware with its callbacks counted.

        What it adds without a callback counts as entered: every build takes it.
        """
        name = f"middlewares[{at}]"
        for field in ("additional_instruction", "additional_tools"):
            if getattr(struct, field):
                self._counter(f"{name}.{field}")()
        changes: dict[str, Any] = {
            field: self._hook(f"{name}.{field}", hook)
            for field in ("before_chat_model", "after_chat_model")
            if (hook := getattr(struct, field)) is not None
        }
        wraps = self.tool_middleware(struct.wrap_tool_call, f"{name}.wrap_tool_call")
        return replace(struct, wrap_tool_call=wraps, **changes)

    def tool_middleware(self, wraps: ToolMiddleware, name: str) -> ToolMiddleware:
        """Return the pair of factories with the calls of what they make counted."""
        made = {
            kind: self._factory(f"{name}.{kind}", factory)
            for kind in ("invokable", "streamable")
            if (factory := getattr(wraps, kind)) is not None
        }
        return ToolMiddleware(**made)

    def handlers(self, handlers: Sequence[object]) -> list[object]:
        """Return the handlers with their hooks counted; raises ConfigurationError.

        The same object twice stays the same object twice: engines may refuse it.
        """
        spelt: set[type] = set()
        seen: dict[int, object] = {}
        for at, handler in enumerate(handlers):
            if id(handler) not in seen:
                seen[id(handler)] = self._handler(handler, at, spelt)
        return [seen[id(handler)] for handler in handlers]

    def _handler(self, handler: object, at: int, spelt: set[type]) -> object:
        name, hooks = hooks_of(handler, spelt)
        self.names.add(name)
        where = f"handlers[{at}] {name}"
        counted = {
            hook: self._low_level(f"{where}.{hook}", method)
            if hook == LOW_LEVEL
            else self._hook(f"{where}.{hook}", method)
            for hook, method in hooks.items()
        }
        return WatchedHooks(name, counted, getattr(handler, "legacy_hooks", None))

    def _hook(self, name: str, hook: AnyHook) -> AnyHook:
        count = self._counter(name)
        if is_async(hook):

            async def entered(*given: Any) -> Any:  # noqa: ANN401  # any hook's
                count()
                return await hook(*given)

            return entered

        def enter(*given: Any) -> Any:  # noqa: ANN401  # any hook's
            count()
            return hook(*given)

        return enter

    def _factory(self, name: str, factory: Callable[[Any], T]) -> Callable[[Any], T]:
        count = self._counter(name)
        return lambda endpoint: _counted(count, factory(endpoint), endpoint)

    def _low_level(self, name: str, bind: Callable[..., T]) -> Callable[..., T]:
        count = self._counter(name)

        def bound(info: object, endpoint: object, *more: object) -> T:
            return _counted(count, bind(info, endpoint, *more), endpoint)

        return bound

    def _counter(self, name: str) -> Count:
        self.hooks.setdefault(name, 0)

        def count() -> None:
            self.hooks[name] += 1

        return count


class WatchedHooks:
    """A handler in whose place this stands; it has the same hooks and name."""

    def __init__(
        self,
        name: str,
        hooks: Mapping[str, AnyHook],
        legacy_hooks: Mapping[str, str] | None,
    ) -> None:
        self.name = name
        self.hooks = frozenset(hooks)
        if legacy_hooks is not None:
            self.legacy_hooks = legacy_hooks
        for hook, method in hooks.items():
            setattr(self, hook, method)


def _counted(count: Count, made: T, endpoint: object) -> T:
    """Count the calls of an endpoint; one that was only handed back is none of it."""
    if made is endpoint:
        return made
    call = cast("Any", made)

    async def entered(ctx: object, value: object) -> object:
        count()
        return await call(ctx, value)

    return cast("T", entered)


def observed(meta: ToolMeta, recorder: Recorder) -> ToolMeta:
    """Return the entry with its tool observed; a world's tool observes itself."""
    if isinstance(meta.tool, RecordingTool) and meta.tool.recorder is recorder:
        return meta
    return replace(meta, tool=ObservedTool(meta.tool, recorder))


class ObservedTool:
    """Has the methods of the tool inside it, and the very same info."""

    def __init__(self, tool: Any, recorder: Recorder) -> None:  # noqa: ANN401  # a Tool, with methods that its protocol leaves open
        self.info = tool.info
        self._tool = tool
        self._recorder = recorder
        if getattr(tool, "invoke", None) is not None:
            self.invoke = self._invoke
        if getattr(tool, "stream", None) is not None:
            self.stream = self._stream

    async def _invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        self._begin("invoke", ctx, arguments, options)
        try:
            result = cast("str", await self._tool.invoke(ctx, arguments, options))
        except Exception as error:
            self._failed(ctx, error)
            raise
        seen = {"result": snapshot(result)}
        self._recorder.add("tool_end", seen, ctx.tool_call_id)
        return result

    async def _stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        self._begin("stream", ctx, arguments, options)
        try:
            reader = await self._tool.stream(ctx, arguments, options)
        except Exception as error:
            self._failed(ctx, error)
            raise
        # Anything else is the engine's to refuse, and not ours to make a stream of.
        if not isinstance(reader, StreamReader):
            return cast("StreamReader[str]", reader)
        return StreamReader(self._chunks(ctx, cast("StreamReader[str]", reader)))

    async def _chunks(
        self, ctx: Context, reader: StreamReader[str]
    ) -> AsyncIterator[str]:
        add, call_id = self._recorder.add, ctx.tool_call_id
        chunks: list[str] = []
        try:
            async for chunk in reader:
                add("tool_chunk", {"chunk": snapshot(chunk)}, call_id)
                chunks.append(chunk)
                yield chunk
            add("tool_end", {"result": "".join(map(str, chunks))}, call_id)
        except Exception as error:
            self._failed(ctx, error)
            raise
        finally:
            await reader.aclose()
            add("stream_close", {"of": "tool"}, call_id)

    def _begin(self, mode: str, ctx: Context, arguments: str, options: Options) -> None:
        data: dict[str, object] = {
            "name": self.info.name,
            "arguments": arguments,
            "implementation": f"the subject's: {self.info.description}",
            "mode": mode,
            "options": snapshot(options),
            "ctx": ctx.get("h", "-"),
        }
        if is_reentry():
            data["reentry"] = True
        self._recorder.add("tool_start", data, ctx.tool_call_id)

    def _failed(self, ctx: Context, error: Exception) -> None:
        text = type(error).__name__
        self._recorder.add("tool_error", {"error": text}, ctx.tool_call_id)
