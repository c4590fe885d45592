"""Watching a subject's extensions: which hooks there are, and how often each ran.

A verdict names the hooks that no world entered, so every hook is counted by a layer of
its own around it. The layer passes everything through, plain functions as plain ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from refengine.awaiting import is_async
from refengine.hooks import LOW_LEVEL, AnyHook, hooks_of
from refengine.middleware import AgentMiddleware
from refengine.tools import ToolMiddleware

T = TypeVar("T")
Count = Callable[[], None]


class Watch:
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
        return Watched(name, counted, getattr(handler, "legacy_hooks", None))

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


class Watched:
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
