"""A handler's tool wrappers as a ToolMiddleware (seed 000 P1.1, seed 000 §3.2)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, cast

from compat.adapters.errors import NotCarriedError
from compat.adapters.structs import AdaptedMiddleware
from refengine.context import Context
from refengine.hooks import AnyHook, hooks_of
from refengine.tools import ToolCallInput, ToolMiddleware

WRAPPERS: Final = frozenset(("wrap_invokable_tool_call", "wrap_streamable_tool_call"))


def tool_middleware_of(handler: object) -> ToolMiddleware:
    """Return the pair of factories that wraps as the handler does (seed 000 P1.1).

    Raises NotCarriedError if the handler has hooks beside its tool wrappers, which a
    ToolMiddleware would lose.
    """
    if isinstance(handler, AdaptedMiddleware) and handler.hooks == frozenset(
        ("bind_tool",)
    ):
        return handler.struct.wrap_tool_call
    name, found = hooks_of(handler, set())
    refuse(name, found.keys() - WRAPPERS, "a ToolMiddleware")
    return wrappers_of(found)


def wrappers_of(found: dict[str, AnyHook]) -> ToolMiddleware:
    """Return the factories of a handler's wrappers; a kind it lacks is not wrapped."""
    return ToolMiddleware(
        _factory(found.get("wrap_invokable_tool_call")),
        _factory(found.get("wrap_streamable_tool_call")),
    )


def refuse(name: str, parts: Collection[str], target: str) -> None:
    """Raise NotCarriedError for the first of these hooks, if there is one."""
    for part in sorted(parts):
        remedy = "leave the handler in handlers=, or split it"
        raise NotCarriedError(name, part, target, remedy)


def _factory(wrap: AnyHook | None) -> AnyHook | None:
    if wrap is None:
        return None

    def make(inner: AnyHook) -> AnyHook:
        async def outer(ctx: Context, input: ToolCallInput) -> object:
            return cast("object", await wrap(ctx, input, inner))

        return outer

    return make
