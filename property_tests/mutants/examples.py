"""Mutants that the seeds show as examples of handlers, in Python (contract §3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from property_tests.mutants.doors import Arrange, Hooked, arranged
from property_tests.mutants.mutant import Mutant
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.profile import Profile
from refengine.tools import Endpoint, ToolCallInput, ToolCallResult


def innermost(*make: Callable[[], Hooked]) -> Arrange:
    """Return the arrangement that puts these handlers behind all others."""

    def arrange(config: ChatModelAgentConfig, _: Profile) -> ChatModelAgentConfig:
        return replace(config, handlers=[*config.handlers, *(each() for each in make)])

    return arrange


def _wrapper(name: str, wrap: Callable[..., Any]) -> Hooked:
    return Hooked(name, {"wrap_invokable_tool_call": wrap})


def _logging_example() -> Hooked:
    """Log the result whatever happened: the example in Python's words."""
    lines: list[str] = []

    async def wrap(ctx: Context, input: ToolCallInput, next: Endpoint) -> Any:  # noqa: ANN401  # as the example has it
        result: Any = None
        try:
            result = await next(ctx, input)
        finally:
            lines.append(f"Tool result: {result.result}")
        return result

    return _wrapper("logging", wrap)


def _logging() -> Hooked:
    lines: list[str] = []

    async def wrap(
        ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        result = await next(ctx, input)
        lines.append(f"Tool result: {result.result}")
        return result

    return _wrapper("logging", wrap)


def _editor() -> Hooked:
    """Edit the result in place, as an outer handler may (contract §0)."""

    async def wrap(
        ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        result = await next(ctx, input)
        result.result += "!"
        return result

    return _wrapper("editor", wrap)


def _cache(taken: Callable[[ToolCallResult], ToolCallResult]) -> Hooked:
    """Cache by name and arguments; ``taken`` is how a result goes in and out."""
    cache: dict[str, ToolCallResult] = {}

    async def wrap(
        ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        key = f"{input.name}:{input.arguments}"
        if key not in cache:
            cache[key] = taken(await next(ctx, input))
        return taken(cache[key])

    return _wrapper("cache", wrap)


def _cache_example() -> Hooked:
    return _cache(lambda result: result)


def _cache_of_copies() -> Hooked:
    return _cache(replace)


EXAMPLES: Final = (
    Mutant(
        id="example-001-logging",
        about="The result is logged before it is known that there is one; of a tool"
        " that fails, the logger's own error is told and the tool's is lost.",
        source="seed 001 §5.2",
        quote='log.Printf("Tool result: %s", result.Result)',
        violates=("ERR-007",),
        right=arranged("logging", innermost(_logging)),
        wrong=arranged("logging in finally", innermost(_logging_example)),
        worlds=MappingProxyType(
            {"middlewares": False, "failures": True, "max_runs": 1}
        ),
    ),
    Mutant(
        id="example-001-cache",
        about="The cache hands one mutable result to everybody, so what an outer"
        " wrapper edits in place is edited again at every hit.",
        source="seed 001 §5.3",
        quote="h.cache[cacheKey] = result",
        violates=("WRAP-009",),
        right=arranged("cache of copies", innermost(_editor, _cache_of_copies)),
        wrong=arranged("cache of objects", innermost(_editor, _cache_example)),
        worlds=MappingProxyType({"middlewares": False, "max_runs": 1}),
    ),
)
"""Handlers that seed 001 shows to be copied."""
