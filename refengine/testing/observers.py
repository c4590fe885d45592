"""Observing a subject: how often each of its hooks ran, and what its own tools did.

A verdict names the hooks that no world entered, so every hook is counted by a layer of
its own around it. The layer passes everything through, plain functions as plain ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar, cast

from refengine.awaiting import is_async
from refengine.context import Context
from refengine.extensions import numbered
from refengine.hooks import LOW_LEVEL, AnyHook, hooks_of
from refengine.interrupts import is_reentry
from refengine.stream import StreamReader
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.recorder import Recorder, snapshot
from refengine.testing.scripted import Invoking, RecordingTool, Streaming
from refengine.tools import Options, ToolMeta, ToolMiddleware

T = TypeVar("T")
Count = Callable[[], None]
Wrapping: TypeAlias = Callable[[Any], Any]


class HookDress(ABC):
    """Puts each hook of extensions into one that stands around it.

    Which one that is, a dress says; what extensions consist of stands here.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        """What the handlers are called."""

    @abstractmethod
    def hook(self, where: str, hook: str, method: AnyHook) -> AnyHook:
        """Return what stands around a hook of that name; ``where`` is whose it is."""

    @abstractmethod
    def factory(self, where: str, hook: str, factory: Wrapping) -> Wrapping:
        """Return what makes what stands around what a factory of wrappers makes."""

    def middleware(self, struct: AgentMiddleware, at: int) -> AgentMiddleware:
        """Return the struct middleware with its callbacks dressed."""
        where = f"middlewares[{at}]"
        changes: dict[str, Any] = {
            field: self.hook(where, field, hook)
            for field in ("before_chat_model", "after_chat_model")
            if (hook := getattr(struct, field)) is not None
        }
        wraps = self.tool_middleware(struct.wrap_tool_call, where, "wrap_tool_call.")
        return replace(struct, wrap_tool_call=wraps, **changes)

    def tool_middleware(
        self, wraps: ToolMiddleware, where: str, hook: str = ""
    ) -> ToolMiddleware:
        """Return the pair of factories with what they make dressed."""
        made = {
            kind: self.factory(where, f"{hook}{kind}", factory)
            for kind in ("invokable", "streamable")
            if (factory := getattr(wraps, kind)) is not None
        }
        return ToolMiddleware(**made)

    def handlers(
        self, handlers: Sequence[object], taken: Sequence[str] = ()
    ) -> list[object]:
        """Return the handlers with their hooks dressed; raises ConfigurationError.

        The same object twice stays the same object twice: engines may refuse it. One
        whose name is ``taken`` by others, which its author knows nothing of, has
        another one: engines may refuse equal names, or number them.
        """
        spelt: set[type] = set()
        found = [hooks_of(each, spelt) for each in handlers]
        names = apart([name for name, _ in found], {*taken, *numbered(taken)})
        self.names.update(names, numbered(names))
        seen: dict[int, object] = {}
        for at, (handler, name, (own, hooks)) in enumerate(
            zip(handlers, names, found, strict=True)
        ):
            if id(handler) not in seen:
                dressed = {
                    hook: self.hook(f"handlers[{at}] {own}", hook, method)
                    for hook, method in hooks.items()
                }
                legacy = getattr(handler, "legacy_hooks", None)
                seen[id(handler)] = WatchedHooks(name, dressed, legacy)
        return [seen[id(handler)] for handler in handlers]


def apart(names: Sequence[str], taken: AbstractSet[str]) -> list[str]:
    """Return the names, those that are taken changed; equal ones stay equal."""
    used = {*names, *taken}
    free: dict[str, str] = {}
    for name in dict.fromkeys(names):
        free[name] = name
        if name in taken:
            while free[name] in used:
                free[name] += "'"
            used.add(free[name])
    return [free[name] for name in names]


class HookWatch(HookDress):
    """Counts the entries of hooks by their names; 0 until one is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks: dict[str, int] = {}

    def middleware(self, struct: AgentMiddleware, at: int) -> AgentMiddleware:
        """Return the struct middleware with its callbacks counted.

        What it adds without a callback counts as entered: every build takes it.
        """
        for field in ("additional_instruction", "additional_tools"):
            if getattr(struct, field):
                self._counter(f"middlewares[{at}]", field)()
        return super().middleware(struct, at)

    def hook(self, where: str, hook: str, method: AnyHook) -> AnyHook:
        """Return the hook, counted."""
        count = self._counter(where, hook)
        if hook == LOW_LEVEL:
            return _counting_what_it_binds(count, method)
        if is_async(method):

            async def entered(*given: Any) -> Any:  # noqa: ANN401  # any hook's
                count()
                return await method(*given)

            return entered

        def enter(*given: Any) -> Any:  # noqa: ANN401  # any hook's
            count()
            return method(*given)

        return enter

    def factory(self, where: str, hook: str, factory: Wrapping) -> Wrapping:
        """Return the factory with the calls of what it makes counted."""
        count = self._counter(where, hook)
        return lambda endpoint: _counted(count, factory(endpoint), endpoint)

    def _counter(self, where: str, hook: str) -> Count:
        name = f"{where}.{hook}"
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
        self.hooks: frozenset[str] = frozenset(hooks)
        if legacy_hooks is not None:
            self.legacy_hooks = legacy_hooks
        for hook, method in hooks.items():
            setattr(self, hook, method)


def _counting_what_it_binds(count: Count, bind: AnyHook) -> AnyHook:
    def bound(info: object, endpoint: object, *more: object) -> object:
        return _counted(count, bind(info, endpoint, *more), endpoint)

    return bound


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
        self.info: Any = tool.info
        self._tool = tool
        self._recorder = recorder
        if getattr(tool, "invoke", None) is not None:
            self.invoke: Invoking = self._invoke
        if getattr(tool, "stream", None) is not None:
            self.stream: Streaming = self._stream

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
