"""Handlers as struct middlewares and as tool middlewares: the way back (contract §1).

For who has to serve an engine that knows structs only. A struct says less than a
handler, so what it cannot say is refused by name, before anything runs where possible.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, cast

from compat.adapters.errors import ChangedContextError, NotCarriedError
from compat.adapters.structs import AdaptedMiddleware
from refengine.awaiting import settled
from refengine.chain import is_history
from refengine.context import Context
from refengine.errors import HookReturnError
from refengine.extensions import as_hooks
from refengine.helpers import HelperHandler
from refengine.hooks import AgentConfig, AnyHook, hooks_of
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState, ModelHook
from refengine.tools import Tool, ToolCallInput, ToolMiddleware

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


_STRUCT: Final = "a struct middleware"
_HISTORY: Final = {
    "before_model_rewrite_history": "before_chat_model",
    "after_model_rewrite_history": "after_chat_model",
}
_CARRIED: Final = WRAPPERS | _HISTORY.keys()


def middlewares_of(handlers: Sequence[object]) -> list[AgentMiddleware]:
    """Return struct middlewares that do what these handlers do, one for each.

    Carried are ``with_instruction``, ``with_tools``, handlers with no other hooks than
    the two history hooks and tool wrappers, and what ``adapt`` made, which is its
    struct again. Everything else raises NotCarriedError.

    A struct's hook hands no context on: a history hook that returns another context
    than it was given raises ChangedContextError when it does so. And an engine that
    keeps empty additions (posture ``empty_addition``) adds a separator for every
    struct, whatever is in it; ``with_instruction`` onto an empty instruction adds none.
    """
    return [_struct_of(each) for each in handlers]


def _struct_of(handler: object) -> AgentMiddleware:
    if isinstance(handler, AdaptedMiddleware):
        return handler.struct
    name, found = hooks_of(handler, set())
    hooks = as_hooks(found)
    if isinstance(handler, HelperHandler) and hooks.keys() == {"before_agent"}:
        return _added_by(handler)
    refuse(name, hooks.keys() - _CARRIED, _STRUCT)
    return AgentMiddleware(
        before_chat_model=_state_hook(name, hooks, "before_model_rewrite_history"),
        after_chat_model=_state_hook(name, hooks, "after_model_rewrite_history"),
        wrap_tool_call=wrappers_of(hooks),
    )


def _added_by(handler: HelperHandler) -> AgentMiddleware:
    """Return what a helper adds: it is what it makes of an empty configuration."""
    before_agent = handler.before_agent
    if before_agent is None or handler.name not in {"with_instruction", "with_tools"}:
        remedy = "give the instruction or the tools with with_instruction or with_tools"
        raise NotCarriedError(handler.name, "before_agent", _STRUCT, remedy)
    config = AgentConfig("", [])
    before_agent(Context(), config)
    tools: list[Tool] = []
    for meta in config.tools:
        if meta.return_directly is not None:
            remedy = f"put {meta.name!r} into tools_config.return_directly"
            raise NotCarriedError(handler.name, "return_directly", _STRUCT, remedy)
        tools.append(meta.tool)
    return AgentMiddleware(config.instruction, tools)


def _state_hook(name: str, hooks: dict[str, AnyHook], hook: str) -> ModelHook | None:
    rewrite = hooks.get(hook)
    if rewrite is None:
        return None

    async def edit(ctx: Context, state: ChatModelAgentState) -> None:
        got = await settled(rewrite(ctx, tuple(state.messages)))
        match got:
            case (Context() as left, messages) if is_history(messages):
                if left is not ctx:
                    raise ChangedContextError(name, hook)
                state.messages = list(messages)
            case _:
                expected = "a pair (context, messages)"
                raise HookReturnError(name, hook, got, expected)

    return edit
