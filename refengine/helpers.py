"""Handlers made by a function call (seed 001 §3.6, seed 000 P2.2).

What they return keeps no state: one agent may have many runs, and one helper's handler
may be given to many agents (contract CONC). A list of handlers is a pipeline, so order
counts: ``with_remove_tools`` before ``with_tools`` does not remove what comes later
(seed 000 §5.3).

Arguments are checked when the helper is called: HandlerArgumentError, ToolKindError and
NotAsyncError name it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from logging import Logger
from typing import TypeAlias, TypeVar, final

from refengine.awaiting import is_async, settled
from refengine.context import Context
from refengine.errors import (
    HandlerArgumentError,
    HookReturnError,
    NotAsyncError,
    UnknownToolNameError,
)
from refengine.handlers.logging import LoggingHandler
from refengine.handlers.tool_filter import tool_names
from refengine.hooks import HOOKS, AgentConfig, AnyHook, Rewritten
from refengine.messages import Message
from refengine.tools import (
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    Tool,
    ToolCallInput,
    ToolCallResult,
    ToolMeta,
    ToolMiddleware,
    as_meta,
)

T = TypeVar("T")
MaybeAwaited: TypeAlias = T | Awaitable[T]
InstructionFunc: TypeAlias = Callable[[Context, str], MaybeAwaited[tuple[Context, str]]]
ToolsFunc: TypeAlias = Callable[
    [Context, list[ToolMeta]], MaybeAwaited[tuple[Context, list[ToolMeta]]]
]
BeforeAgent: TypeAlias = Callable[[Context, AgentConfig], MaybeAwaited[Context]]
RewriteHistory: TypeAlias = Callable[
    [Context, Sequence[Message]], MaybeAwaited[Rewritten]
]
InvokableWrapper: TypeAlias = Callable[
    [Context, ToolCallInput, Endpoint], Awaitable[ToolCallResult]
]
StreamableWrapper: TypeAlias = Callable[
    [Context, ToolCallInput, StreamEndpoint], Awaitable[StreamToolCallResult]
]


@final
@dataclass(frozen=True, slots=True, eq=False)
class HelperHandler:
    """A handler with the hooks that a helper gave it; ``name`` is the helper's."""

    name: str
    before_agent: AnyHook | None = None
    before_model_rewrite_history: AnyHook | None = None
    after_model_rewrite_history: AnyHook | None = None
    wrap_invokable_tool_call: AnyHook | None = None
    wrap_streamable_tool_call: AnyHook | None = None
    wrap_model_call: AnyHook | None = None
    after_agent: AnyHook | None = None

    @property
    def hooks(self) -> frozenset[str]:
        """The hooks it has."""
        return frozenset(hook for hook in HOOKS if getattr(self, hook) is not None)


def with_instruction(text: str) -> HelperHandler:
    """Add ``text`` to the instruction as a line of its own.

    It becomes the instruction if that was empty; an empty text changes nothing.
    """
    if not isinstance(text, str):
        raise HandlerArgumentError("with_instruction", text, "a text")

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        if text:
            before = config.instruction
            config.instruction = f"{before}\n{text}" if before else text
        return ctx

    return HelperHandler("with_instruction", before_agent)


def with_instruction_func(fn: InstructionFunc) -> HelperHandler:
    """Replace the instruction: ``fn(ctx, instruction)`` returns (ctx, instruction)."""
    helper = "with_instruction_func"
    _refuse_uncallable(helper, fn)

    async def before_agent(ctx: Context, config: AgentConfig) -> Context:
        got = await settled(fn(ctx, config.instruction))
        _refuse_shape(helper, got, str, "(context, instruction)")
        ctx, config.instruction = got
        return ctx

    return HelperHandler(helper, before_agent)


def with_tools(*tools: Tool | ToolMeta) -> HelperHandler:
    """Add tools; one whose name is there already replaces that one."""
    if not tools:
        raise HandlerArgumentError("with_tools", tools, "at least one tool")
    for each in tools:
        if isinstance(each, type) or not isinstance(each, (Tool, ToolMeta)):
            raise HandlerArgumentError("with_tools", each, "tools, which have an info")
    metas = [as_meta(each) for each in tools]

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        config.tools.extend(metas)
        return ctx

    return HelperHandler("with_tools", before_agent)


def with_tools_func(fn: ToolsFunc) -> HelperHandler:
    """Replace the set of tools: ``fn(ctx, tools)`` returns (ctx, tools).

    What it returns is the whole set; a tool that it leaves out is removed.
    """
    helper = "with_tools_func"
    _refuse_uncallable(helper, fn)

    async def before_agent(ctx: Context, config: AgentConfig) -> Context:
        got = await settled(fn(ctx, config.tools))
        _refuse_shape(helper, got, (list, tuple), "(context, list of tools)")
        ctx, config.tools = got
        return ctx

    return HelperHandler(helper, before_agent)


def with_before_agent(fn: BeforeAgent) -> HelperHandler:
    """Make ``fn(ctx, config)`` a handler's ``before_agent``; it returns the context."""
    _refuse_uncallable("with_before_agent", fn)
    return HelperHandler("with_before_agent", before_agent=fn)


def with_before_model_rewrite_history(fn: RewriteHistory) -> HelperHandler:
    """Make ``fn(ctx, messages)`` a hook that rewrites what the model sees next."""
    helper = "with_before_model_rewrite_history"
    _refuse_uncallable(helper, fn)
    return HelperHandler(helper, before_model_rewrite_history=fn)


def with_after_model_rewrite_history(fn: RewriteHistory) -> HelperHandler:
    """Make ``fn(ctx, messages)`` a hook that rewrites what the model's answer left."""
    helper = "with_after_model_rewrite_history"
    _refuse_uncallable(helper, fn)
    return HelperHandler(helper, after_model_rewrite_history=fn)


def with_invokable_tool_wrapper(fn: InvokableWrapper) -> HelperHandler:
    """Wrap the calls of invokable tools: ``await fn(ctx, input, next)``."""
    helper = "with_invokable_tool_wrapper"
    _refuse_not_async(helper, fn)
    return HelperHandler(helper, wrap_invokable_tool_call=fn)


def with_streamable_tool_wrapper(fn: StreamableWrapper) -> HelperHandler:
    """Wrap the calls of streamable tools: ``await fn(ctx, input, next)``."""
    helper = "with_streamable_tool_wrapper"
    _refuse_not_async(helper, fn)
    return HelperHandler(helper, wrap_streamable_tool_call=fn)


def with_global_tool_wrapper(
    middleware: ToolMiddleware | None = None,
    /,
    *,
    invokable: InvokableWrapper | None = None,
    streamable: StreamableWrapper | None = None,
) -> HelperHandler:
    """Wrap every tool call: the place that ``tool_call_middlewares`` had before.

    Takes a wrapper for each kind, or the ToolMiddleware that stood there, whose
    factories are then called in every call. Both kinds are never one function: their
    results have nothing in common that a wrapper could change.
    """
    helper = "with_global_tool_wrapper"
    if middleware is not None:
        if not isinstance(middleware, ToolMiddleware) or invokable or streamable:
            wanted = "a ToolMiddleware alone, or invokable= and streamable="
            raise HandlerArgumentError(helper, middleware, wanted)
        invokable = _calling(middleware.invokable)
        streamable = _calling(middleware.streamable)
    given = [fn for fn in (invokable, streamable) if fn is not None]
    if not given:
        wanted = "a ToolMiddleware, invokable= or streamable="
        raise HandlerArgumentError(helper, middleware, wanted)
    for fn in given:
        _refuse_not_async(helper, fn)
    return HelperHandler(
        helper,
        wrap_invokable_tool_call=invokable,
        wrap_streamable_tool_call=streamable,
    )


def with_remove_tools(*names: str) -> HelperHandler:
    """Remove the tools of these names, which are then neither shown nor run.

    A name that is not there is left alone: a tool may be absent in some configurations,
    and ToolFilterHandler is there for who wants that to be an error. One that differs
    from a tool's only in case, spaces, hyphens or underscores raises
    UnknownToolNameError, since the tool meant would stay.
    """
    helper = "with_remove_tools"
    removed = tool_names(helper, names)

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        present = {meta.name for meta in config.tools}
        _refuse_misspelt(helper, removed - present, present)
        if not removed.isdisjoint(present):
            config.tools = [each for each in config.tools if each.name not in removed]
        return ctx

    return HelperHandler(helper, before_agent)


def with_return_directly_on(*names: str) -> HelperHandler:
    """Make the results of these tools the answer of the run.

    Raises UnknownToolNameError for a name that is not there: the flag would be lost,
    also if a later handler adds the tool.
    """
    helper = "with_return_directly_on"
    direct = tool_names(helper, names)

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        present = [meta.name for meta in config.tools]
        unknown = sorted(direct.difference(present))
        if unknown:
            raise UnknownToolNameError(helper, unknown, present)
        config.tools = [
            replace(each, return_directly=True) if each.name in direct else each
            for each in config.tools
        ]
        return ctx

    return HelperHandler(helper, before_agent)


def with_tool_call_logging(logger: Logger) -> HelperHandler:
    """Log start and end, or failure, of every tool call; see LoggingHandler."""
    helper = "with_tool_call_logging"
    if not isinstance(logger, Logger):
        raise HandlerArgumentError(helper, logger, "a logging.Logger")
    logs = LoggingHandler(logger)
    return HelperHandler(
        helper,
        wrap_invokable_tool_call=logs.wrap_invokable_tool_call,
        wrap_streamable_tool_call=logs.wrap_streamable_tool_call,
    )


def _refuse_shape(
    helper: str, got: object, second: type | tuple[type, ...], wanted: str
) -> None:
    match got:
        case [Context(), value] if isinstance(value, second):  # pyright: ignore[reportUnknownVariableType]  # it is looked at here
            pass
        case _:
            raise HookReturnError(helper, "the function", got, f"a pair {wanted}")


def _calling(factory: AnyHook | None) -> AnyHook | None:
    """Return the wrapper that calls the factory around each call's ``next``."""
    if factory is None:
        return None

    async def wrap(ctx: Context, input: ToolCallInput, next: AnyHook) -> object:
        return await factory(next)(ctx, input)

    return wrap


def _refuse_uncallable(helper: str, fn: object) -> None:
    if not callable(fn):
        raise HandlerArgumentError(helper, fn, "a function")


def _refuse_not_async(helper: str, fn: AnyHook) -> None:
    _refuse_uncallable(helper, fn)
    if not is_async(fn):
        raise NotAsyncError(helper, getattr(fn, "__name__", repr(fn)))


def _refuse_misspelt(helper: str, absent: frozenset[str], present: set[str]) -> None:
    if not absent:
        return
    spelt = {_spelling(name) for name in present}
    meant = sorted(name for name in absent if _spelling(name) in spelt)
    if meant:
        raise UnknownToolNameError(helper, meant, sorted(present))


def _spelling(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")
