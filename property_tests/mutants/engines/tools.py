"""Engines that are wrong about which tools a run is planned with (TOOL)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, TypeAlias

from property_tests.mutants.around import without_notice
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch, wrong
from refengine.awaiting import settled
from refengine.messages import Message
from refengine.model import ModelRequest
from refengine.tools import ToolInfo, ToolMeta, as_meta, normalise

Metas: TypeAlias = "list[ToolMeta]"

UNDER_RUNS: Final = "eino-0.9"
"""A profile whose before_agent hooks act at the start of every run."""


def planned(change: Callable[[Given, Given], Given]) -> Patch:
    """Change what the before_agent phase leaves, given the planner and that."""

    def replaced(right: Right) -> Right:
        async def plan(self: Given, *given: Given) -> Given:
            return change(self, await right(self, *given))

        return plan

    return patch("planner.plan", replaced)


def names(metas: Iterable[ToolMeta]) -> set[str]:
    """Return the names of tools."""
    return {meta.name for meta in metas}


def null_taken(right: Right) -> Right:
    """Take null for no tools."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, *rest: Given
    ) -> Given:
        async def without_null(ctx: Given, config: Given) -> Given:
            left = await settled(hook(ctx, config))
            config.tools = config.tools or []
            return left

        return await right(self, name, without_null, ctx, *rest)

    return enter


def _default(change: Callable[[Metas, Metas], Metas]) -> Patch:
    """Join the configured tools and those of structs in another way."""

    def replaced(_: Right) -> Right:
        def default_tools(self: Given) -> Metas:
            configured = [as_meta(each) for each in self.config.tools]
            added = [
                as_meta(tool)
                for each in self.extensions.middlewares
                for tool in each.struct.additional_tools
            ]
            return change(configured, added)

        return default_tools

    return patch("planner.default_tools", replaced)


def _configured_only(configured: Metas, _: Metas) -> Metas:
    return normalise(configured)


def _at_the_last(configured: Metas, added: Metas) -> Metas:
    """Put each name where its last tool stands."""
    found: dict[str, ToolMeta] = {}
    for meta in (*configured, *added):
        found.pop(meta.name, None)
        found[meta.name] = meta
    return list(found.values())


def _first_kept(configured: Metas, added: Metas) -> Metas:
    found: dict[str, ToolMeta] = {}
    for meta in (*configured, *added):
        found.setdefault(meta.name, meta)
    return list(found.values())


def _first_stays(right: Right) -> Right:
    """Append only tools of names that are not there yet."""

    def update(self: Given, left: Sequence[Given]) -> Given:
        known = len(self.metas)
        metas = [as_meta(each) for each in left]
        there = names(self.metas)
        new = [meta for meta in metas[known:] if meta.name not in there]
        return right(self, [*left[:known], *new])

    return update


def _structs_last(planner: Given, left: Given) -> Given:
    """Add the tools of structs when the handlers have been asked."""
    later = [
        ToolMeta(tool)
        for each in planner.extensions.middlewares
        for tool in each.struct.additional_tools
    ]
    return replace(
        left,
        shown=(*left.shown, *(meta.tool.info for meta in later)),
        runnable=(*left.runnable, *later),
    )


def _default_for_all(right: Right) -> Right:
    """Show each handler the same tools, and do what it does to them to the rest."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        before, default = config.tools, self.default_tools()
        config.tools = list(default)
        left = await right(self, name, hook, ctx, config, *rest)
        added = [meta for meta in config.tools if meta not in default]
        gone = names(default) - names(config.tools)
        config.tools = [m for m in before if m.name not in gone | names(added)] + added
        return left

    return enter


def _names_only(_: Given, left: Given) -> Given:
    return replace(left, shown=tuple(ToolInfo(info.name) for info in left.shown))


def _default_shown_only(_: Given, left: Given) -> Given:
    default = names(left.registered)
    return replace(left, shown=tuple(i for i in left.shown if i.name in default))


def _removed_shown(_: Given, left: Given) -> Given:
    shown = {info.name for info in left.shown}
    gone = [meta.tool.info for meta in left.registered if meta.name not in shown]
    return replace(left, shown=(*left.shown, *gone))


def _piling_up(planner: Given, left: Given) -> Given:
    """Start the next run with the tools of this one."""
    planner.config = replace(planner.config, tools=left.runnable)
    return left


def _offered_once(right: Right) -> Right:
    """Offer tools until there is a result."""

    async def bare(
        self: Given,
        ctx: Given,
        messages: Sequence[Message],
        tools: Given,
        options: Given,
    ) -> Given:
        results = any(message.role == "tool" for message in messages)
        return await right(self, ctx, messages, () if results else tools, options)

    return bare


def _shown_once(right: Right) -> Right:
    """Give the tools to the first iteration alone."""

    async def ask_model(self: Given, ctx: Given) -> Given:
        if self.iterations > 1:
            self.plan = replace(self.plan, shown=())
        return await right(self, ctx)

    return ask_model


_ENTERED_WITH: Final[ContextVar[ModelRequest]] = ContextVar("entered_with")


def _all_offered(right: Right) -> Right:
    """Offer the tools of the request as it was before any wrapper saw it."""

    def compile_(self: Given, layers: Given, innermost: Given, first: int = 0) -> Given:
        if self.result_type is not Message:
            return right(self, layers, innermost, first)

        async def inner(ctx: Given, request: ModelRequest) -> Given:
            tools = _ENTERED_WITH.get().tools
            return await innermost(ctx, replace(request, tools=tools))

        call = right(self, layers, inner, first)

        async def outer(ctx: Given, request: ModelRequest) -> Given:
            _ENTERED_WITH.set(request)
            return await call(ctx, request)

        return outer

    return compile_


def _no_fold(right: Right) -> Right:
    """Keep all entries that a handler leaves."""

    def update(self: Given, left: Sequence[Given]) -> Given:
        self.one_entry = False
        return right(self, left)

    return update


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "equal-names-at-the-last",
        "A name stands where its last tool stood.",
        "TOOL-003",
        _default(_at_the_last),
    ),
    broken(
        "handlers-miss-struct-tools",
        "Tools of structs are added after the handlers were asked.",
        "TOOL-004",
        _default(_configured_only),
        planned(_structs_last),
    ),
    broken(
        "handlers-see-all-tools",
        "Each handler sees the tools that there were before any of them.",
        "TOOL-005",
        patch("planner.enter", _default_for_all),
    ),
    broken(
        "handlers-tools-not-shown",
        "The model is offered none of the tools that handlers add.",
        "TOOL-007",
        planned(_default_shown_only),
    ),
    broken(
        "removed-tools-shown",
        "A tool that a handler removed is still offered.",
        "TOOL-007",
        planned(_removed_shown),
    ),
    broken(
        "null-tools-taken",
        "Null for the tools is taken for none.",
        "TOOL-009",
        patch("planner.enter", null_taken),
    ),
    broken(
        "tools-offered-once",
        "Only the first request of a run offers tools.",
        "TOOL-010",
        patch("model.bare", _offered_once),
    ),
    broken(
        "tools-told-once",
        "Only the first model call of a run, and its wrappers, are given the tools.",
        "TOOL-010",
        patch("loop.ask_model", _shown_once),
    ),
    broken(
        "tools-pile-up",
        "A run starts with the tools that handlers left in the one before.",
        "TOOL-011",
        planned(_piling_up),
        under=UNDER_RUNS,
    ),
    broken(
        "taken-out-tools-offered",
        "The model is offered tools that a wrapper took out of the request.",
        "TOOL-012",
        patch("onion.compile", _all_offered),
    ),
    broken(
        "descriptions-lost",
        "The model is told no more of a tool than its name.",
        "TOOL-013",
        planned(_names_only),
    ),
    wrong(
        "removal-silent",
        "Nobody is told that a handler left fewer tools.",
        "TOOL-014",
        without_notice("tools_removed"),
    ),
    broken(
        "first-of-equal-names-runs",
        "Of tools of one name the first one runs.",
        "TOOL-015",
        _default(_first_kept),
        patch("planner.fold", _first_stays),
    ),
    broken(
        "handlers-append-equal-names",
        "Equal names that a handler leaves are not folded (seed 001 appends).",
        "TOOL-006",
        patch("planner.fold", _no_fold),
    ),
)
