"""Our own broken adapters: what one gets wrong who writes an adapter of structs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from compat.adapters import AdaptedMiddleware, adapt
from compat.engines.adapted import Adapt
from property_tests.mutants.doors import Hooked, each_remade, passing, remade
from refengine.awaiting import settled
from refengine.context import Context
from refengine.errors import HookError
from refengine.hooks import AgentConfig, AnyHook
from refengine.messages import Message
from refengine.plan import instruction_with
from refengine.profile import Profile, choosing
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState
from refengine.tools import ToolCallInput, ToolInfo

Rewrite: TypeAlias = "tuple[Context, Sequence[Message]]"
BEFORE: Final = "before_model_rewrite_history"


def state_on_the_handler(
    structs: Sequence[AgentMiddleware], profile: Profile
) -> list[Hooked]:
    """Keep the state object where the handlers are made, for all passes and runs."""
    state = ChatModelAgentState([])

    def rewriting(hook: AnyHook | None) -> AnyHook | None:
        async def rewrite(ctx: Context, messages: Sequence[Message]) -> Rewrite:
            state.messages = list(messages)
            await settled(hook(ctx, state) if hook else None)
            return ctx, tuple(state.messages)

        return None if hook is None else rewrite

    return [
        remade(
            each,
            before_model_rewrite_history=rewriting(each.struct.before_chat_model),
            after_model_rewrite_history=rewriting(each.struct.after_chat_model),
        )
        for each in adapt(structs, profile)
    ]


def state_of_a_pass(
    structs: Sequence[AgentMiddleware], profile: Profile
) -> Sequence[object]:
    """Lose the state object between the passes of an iteration."""
    return adapt(structs, choosing(profile, "state_object", "per_pass"))


def in_reverse(field: str) -> Adapt:
    """Give the structs one field of theirs in reverse order."""

    def adapter(
        structs: Sequence[AgentMiddleware], profile: Profile
    ) -> Sequence[object]:
        values = [getattr(each, field) for each in structs]
        changed = [
            replace(each, **{field: value})
            for each, value in zip(structs, reversed(values), strict=True)
        ]
        return adapt(changed, profile)

    return adapter


def factory_an_agent(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Call each factory for the first tool only, and wrap all tools by what it made."""
    made: dict[str, AnyHook] = {}

    def bind(right: AnyHook) -> AnyHook:
        def bind_tool(info: ToolInfo, endpoint: AnyHook, kind: str) -> AnyHook:
            if kind not in made:
                made[kind] = right(info, endpoint, kind)
            return made[kind]

        return bind_tool

    return _rebound(handler, bind)


def inner(change: Callable[[AnyHook], AnyHook]) -> Adapt:
    """Change the endpoint that factories are given."""

    def bind(right: AnyHook) -> AnyHook:
        def bind_tool(info: ToolInfo, endpoint: AnyHook, kind: str) -> object:
            return right(info, change(endpoint), kind)

        return bind_tool

    return each_remade(lambda handler, _: _rebound(handler, bind))


def without_context(endpoint: AnyHook) -> AnyHook:
    """Call inwards with another context than the wrapper handed on."""

    def call(_: Context, value: ToolCallInput) -> object:
        return endpoint(Context(), value)

    return call


def without_options(endpoint: AnyHook) -> AnyHook:
    """Call inwards without the options of the call."""

    def call(ctx: Context, value: ToolCallInput) -> object:
        return endpoint(ctx, ToolCallInput(value.name, value.arguments, value.call_id))

    return call


def only_invokable(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Forget the wrappers of streamed calls."""

    def bind(right: AnyHook) -> AnyHook:
        def bind_tool(info: ToolInfo, endpoint: AnyHook, kind: str) -> object:
            return right(info, endpoint, kind) if kind == "invokable" else endpoint

        return bind_tool

    return _rebound(handler, bind)


def wrapped_twice(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Wrap a hook's error, which the engine then wraps once more."""

    def rewriting(right: AnyHook) -> AnyHook:
        async def rewrite(ctx: Context, messages: Sequence[Message]) -> Rewrite:
            try:
                left: Rewrite = await right(ctx, messages)
            except Exception as error:
                raise HookError(handler.name, 0, "before_chat_model", error) from error
            return left

        return rewrite

    return _rewriting(handler, rewriting)


def swallowed(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Go on with what the hook was given if it raises."""

    def rewriting(right: AnyHook) -> AnyHook:
        async def rewrite(ctx: Context, messages: Sequence[Message]) -> Rewrite:
            try:
                left: Rewrite = await right(ctx, messages)
            except Exception:  # noqa: BLE001  # the fault that is meant
                return ctx, messages
            return left

        return rewrite

    return _rewriting(handler, rewriting)


def edits_lost(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Hand on the history as it was before the hook edited the state."""

    def rewriting(right: AnyHook) -> AnyHook:
        async def rewrite(ctx: Context, messages: Sequence[Message]) -> Rewrite:
            left: Rewrite = await right(ctx, messages)
            return left[0], messages

        return rewrite

    return _rewriting(handler, rewriting)


def tools_in_front(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Put the struct's tools before those that are there."""

    def adding(right: AnyHook) -> AnyHook:
        def before_agent(ctx: Context, config: AgentConfig) -> object:
            before = list(config.tools)
            ctx = right(ctx, config)
            config.tools = [*config.tools[len(before) :], *before]
            return ctx

        return before_agent

    return _adding(handler, adding)


def separator_after(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Put the separator behind the addition instead of before it."""
    text = handler.struct.additional_instruction

    def adding(right: AnyHook) -> AnyHook:
        def before_agent(ctx: Context, config: AgentConfig) -> object:
            before = config.instruction
            ctx = right(ctx, config)
            config.instruction = f"{before}{text}\n"
            return ctx

        return before_agent

    return _adding(handler, adding)


def piling_up(handler: AdaptedMiddleware, profile: Profile) -> Hooked:
    """Add to what the last run left and not to what the agent was given."""
    pile: list[str] = []

    def adding(right: AnyHook) -> AnyHook:
        def before_agent(ctx: Context, config: AgentConfig) -> object:
            config.instruction = instruction_with(config.instruction, pile, profile)
            pile.append(handler.struct.additional_instruction)
            return right(ctx, config)

        return before_agent

    return _adding(handler, adding)


def as_handlers(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Do not say that the handler is an adapted one."""
    made = remade(handler)
    made.legacy_hooks = None
    return made


def behind_a_handler(
    structs: Sequence[AgentMiddleware], profile: Profile
) -> list[object]:
    """Put a handler that does nothing before the adapted ones."""
    first = Hooked("first", {"before_agent": passing})
    return [first, *adapt(structs, profile)]


def _rebound(handler: AdaptedMiddleware, bind: Callable[[AnyHook], AnyHook]) -> Hooked:
    right = handler.bind_tool
    return remade(handler, bind_tool=None if right is None else bind(right))


def _rewriting(
    handler: AdaptedMiddleware, change: Callable[[AnyHook], AnyHook]
) -> Hooked:
    right = handler.before_model_rewrite_history
    return remade(handler, **{BEFORE: None if right is None else change(right)})


def _adding(handler: AdaptedMiddleware, change: Callable[[AnyHook], AnyHook]) -> Hooked:
    right = handler.before_agent
    return remade(handler, before_agent=None if right is None else change(right))
