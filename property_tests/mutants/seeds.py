"""Mutants that the seeds sketch: their own code as it stands there, fault by fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from compat.adapters import AdaptedMiddleware, adapt
from compat.engines.adapted import Adapt
from property_tests.mutants.doors import (
    NATIVE,
    Arrange,
    Hooked,
    adapting,
    arranged,
    each_remade,
    remade,
)
from property_tests.mutants.mutant import Mutant
from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import settled
from refengine.context import Context
from refengine.hooks import AgentConfig, AnyHook
from refengine.profile import Profile, choosing
from refengine.tools import ToolCallInput, ToolInfo, ToolMeta

Fold: TypeAlias = Callable[[list[ToolMeta], list[ToolMeta]], list[ToolMeta]]

STRUCTS: Final = MappingProxyType({"handlers": False, "max_runs": 1})
"""Worlds without handlers: what an adapter does is seen there already."""
BARE: Final = MappingProxyType(
    {**STRUCTS, "tool_call_middlewares": False, "streaming": False}
)
"""The same with less around them, for what is rarely met in a full world."""
COUNTING: Final = MappingProxyType({**BARE, "counting": True})
ADAPTER_001: Final = "seed 001 §4.1"
ADAPTER_000: Final = "seed 000 P0.2"


def _under(posture: str, option: str) -> Adapt:
    """Return the adapter that takes one posture for another."""
    return lambda structs, profile: adapt(structs, choosing(profile, posture, option))


def _flag_cleared(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Set the flag of the struct's tools to false."""
    right = handler.before_agent

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        before = len(config.tools)
        if right is not None:
            right(ctx, config)
        config.tools = [
            meta if at < before else replace(meta, return_directly=False)
            for at, meta in enumerate(config.tools)
        ]
        return ctx

    return remade(handler, before_agent=before_agent)


def _factory_a_call(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Call the factory anew in every call."""
    wrap = handler.struct.wrap_tool_call

    def wrapper(make: AnyHook | None) -> AnyHook | None:
        async def call(ctx: Context, input: ToolCallInput, next: AnyHook) -> object:
            outer = next if make is None else make(next)
            return await outer(ctx, input)

        return None if make is None else call

    hooks = {f"wrap_{kind}_tool_call" for kind in ("invokable", "streamable")}
    made = remade(
        handler,
        bind_tool=None,
        wrap_invokable_tool_call=wrapper(wrap.invokable),
        wrap_streamable_tool_call=wrapper(wrap.streamable),
    )
    named = dict.fromkeys(hooks & made.hooks, "wrap_tool_call")
    made.legacy_hooks = {**(made.legacy_hooks or {}), **named}
    return made


def _one_name(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Give all structs one name and no fields."""
    made = remade(handler)
    made.name, made.legacy_hooks = "legacy-middleware", None
    return made


def _stream_of_results(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Return the stream where its holder is asked for."""
    right = handler.bind_tool
    if right is None:
        return remade(handler)

    def bind_tool(info: ToolInfo, endpoint: AnyHook, kind: str) -> AnyHook:
        outer: AnyHook = right(info, endpoint, kind)

        async def call(ctx: Context, input: ToolCallInput) -> object:
            return (await outer(ctx, input)).result

        return outer if kind == "invokable" or outer is endpoint else call

    return remade(handler, bind_tool=bind_tool)


def _merging(fold: Fold) -> Arrange:
    """Return the arrangement after each of whose handlers the tools are folded so."""

    def arrange(config: ChatModelAgentConfig, _: Profile) -> ChatModelAgentConfig:
        handlers = [_merged(handler, fold) for handler in config.handlers]
        return replace(config, handlers=handlers)

    return arrange


def _merged(handler: object, fold: Fold) -> object:
    hooks = {hook: getattr(handler, hook) for hook in getattr(handler, "hooks", ())}
    right = hooks.get("before_agent")
    if right is None:
        return handler

    async def before_agent(ctx: Context, config: AgentConfig) -> Context:
        before = list(config.tools)
        left: Context = await settled(right(ctx, config))
        config.tools = fold(before, config.tools)
        return left

    hooks["before_agent"] = before_agent
    return Hooked(str(getattr(handler, "name", "")), hooks)


def _as_map(before: list[ToolMeta], left: list[ToolMeta]) -> list[ToolMeta]:
    """Write what was left into a map of what was there."""
    return list({meta.name: meta for meta in [*before, *left]}.values())


def _unordered(_: list[ToolMeta], left: list[ToolMeta]) -> list[ToolMeta]:
    """Forget the order, as a map of Go does."""
    return sorted(left, key=lambda meta: meta.name)


SKETCHES: Final = (
    Mutant(
        id="sketch-001-skips-empty",
        about="An empty additional instruction adds nothing; before the refactor it"
        " added its newline.",
        source=ADAPTER_001,
        quote='if m.AdditionalInstruction != "" {',
        violates=("COMPAT-001", "INS-005"),
        right=NATIVE,
        wrong=adapting("skips empty", _under("empty_addition", "skipped")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-001-flag-false",
        about="The struct's tools get the flag false where they had none, so what"
        " tools_config.return_directly says for the name is overruled.",
        source=ADAPTER_001,
        quote="ToolMeta{Tool: t, ReturnDirectly: false}",
        violates=("COMPAT-001", "RD-014"),
        right=NATIVE,
        wrong=adapting("flag false", each_remade(_flag_cleared)),
        worlds=BARE,
    ),
    Mutant(
        id="sketch-001-state-a-struct",
        about="Every struct is given a state object of its own; before the refactor all"
        " hooks of a pass were given one, and could find it again.",
        source=ADAPTER_001,
        quote="state := &ChatModelAgentState{Messages: messages}",
        violates=("COMPAT-001", "COMPAT-004"),
        right=NATIVE,
        wrong=adapting("state a struct", _under("state_object", "per_middleware")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-001-factory-a-call",
        about="The factory of a tool wrapper is called for every call and not once a"
        " tool, so what its closure counts or caches starts anew each time.",
        source=ADAPTER_001,
        quote="wrappedNext := m.WrapToolCall.Invokable(",
        violates=("COMPAT-001", "COMPAT-005"),
        right=NATIVE,
        wrong=adapting("factory a call", each_remade(_factory_a_call)),
        worlds=COUNTING,
    ),
    Mutant(
        id="sketch-001-one-name",
        about="All structs have one name and the hooks of a handler, so an error tells"
        " neither which struct raised it nor which of its fields.",
        source=ADAPTER_001,
        quote='return "legacy-middleware"',
        violates=("COMPAT-001", "ERR-002"),
        right=NATIVE,
        wrong=adapting("one name", each_remade(_one_name)),
        worlds=MappingProxyType({**STRUCTS, "failures": True}),
    ),
    Mutant(
        id="sketch-001-stream-of-results",
        about="The wrapper of a streamed call returns the stream itself; §3.1 of the"
        " same seed asks for a StreamToolCallResult that holds it.",
        source=ADAPTER_001,
        quote="(*schema.StreamReader[*ToolCallResult], error)",
        violates=("COMPAT-001", "STR-016"),
        right=NATIVE,
        wrong=adapting("stream of results", each_remade(_stream_of_results)),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-blank-line",
        about="A blank line stands before an additional instruction; before the"
        " refactor it was one newline.",
        source=ADAPTER_000,
        quote='return instruction + "\\n\\n" + m.AdditionalInstruction, nil',
        violates=("COMPAT-001", "INS-004"),
        right=NATIVE,
        wrong=adapting("blank line", _under("separator", "blank_line")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-skips-empty",
        about="An empty additional instruction adds nothing, as in seed 001 §4.1.",
        source=ADAPTER_000,
        quote='if m.AdditionalInstruction == "" {',
        violates=("COMPAT-001", "INS-005"),
        right=NATIVE,
        wrong=adapting("skips empty", _under("empty_addition", "skipped")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-empty-base",
        about="An empty instruction gets no separator before an addition; before the"
        " refactor it got one.",
        source=ADAPTER_000,
        quote='if instruction == "" {',
        violates=("COMPAT-001", "INS-006"),
        right=NATIVE,
        wrong=adapting("empty base", _under("empty_base", "replaced")),
        worlds=STRUCTS,
    ),
    Mutant(
        id="sketch-000-merge-keeps",
        about="What a handler leaves is written into a map of what was there, so no"
        " handler can remove a tool.",
        source="seed 000 §3.1",
        quote="finalToolsMap[t.Tool.Info(ctx).Name] = t",
        violates=("TOOL-014",),
        right=NATIVE,
        wrong=arranged("merge keeps", _merging(_as_map)),
        worlds=MappingProxyType({"middlewares": False, "max_runs": 1}),
    ),
    Mutant(
        id="sketch-000-merge-unordered",
        about="The tools come out of a map in any order (here: sorted by name, so that"
        " a run can be repeated); the model is shown another order than was given.",
        source="seed 000 §3.1",
        quote="finalTools := toSlice(finalToolsMap)",
        violates=("TOOL-007",),
        right=NATIVE,
        wrong=arranged("merge _unordered", _merging(_unordered)),
        worlds=MappingProxyType({"middlewares": False, "max_runs": 1}),
    ),
)
"""Adapters and the merge of the two seeds."""
