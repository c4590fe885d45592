"""What takes the place of the engine's own where it is wrong about tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from property_tests.mutants.patching import Patch
from refengine.hooks import AgentConfig
from refengine.plan import Plan, Planner, ToolFold
from refengine.profile import choosing
from refengine.tools import ToolInfo, ToolMeta

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type
Metas: TypeAlias = "list[ToolMeta]"


def planned(change: Callable[[Plan], Plan]) -> Patch:
    """Change what the before_agent phase leaves."""

    def replaced(right: Right) -> Right:
        async def plan(self: Planner, *given: Given) -> Plan:
            return change(await right(self, *given))

        return plan

    return Patch(Planner, "plan", replaced)


def sorted_by_name(left: Plan) -> Plan:
    """Sort the tools that are shown."""
    shown = sorted(left.shown, key=lambda info: info.name)
    return replace(left, shown=tuple(shown))


def names_only(left: Plan) -> Plan:
    """Show no more than names."""
    return replace(left, shown=tuple(ToolInfo(info.name) for info in left.shown))


def added_first(right: Right) -> Right:
    """Put the tools of structs first."""

    def joined(self: Planner, configured: Metas, added: Metas) -> Given:
        return right(self, added, configured)

    return joined


def configured_only(right: Right) -> Right:
    """Leave out the tools of structs."""

    def joined(self: Planner, configured: Metas, _: Metas) -> Given:
        return right(self, configured, [])

    return joined


def at_the_last(_: Right) -> Right:
    """Put each name where its last tool stands."""

    def normalise(metas: Iterable[ToolMeta]) -> Metas:
        found: dict[str, ToolMeta] = {}
        for meta in metas:
            found.pop(meta.name, None)
            found[meta.name] = meta
        return list(found.values())

    return normalise


def not_folded(_: Right) -> Right:
    """Keep all entries."""
    return list


def first_kept(_: Right) -> Right:
    """Keep the first tool of each name."""

    def normalise(metas: Iterable[ToolMeta]) -> Metas:
        found: dict[str, ToolMeta] = {}
        for meta in metas:
            found.setdefault(meta.name, meta)
        return list(found.values())

    return normalise


def first_stays(right: Right) -> Right:
    """Append only tools of names that are not there yet."""

    def append(self: ToolFold, metas: Sequence[ToolMeta]) -> None:
        right(self, [meta for meta in metas if meta.name not in self.index])

    return append


def structs_last(right: Right) -> Right:
    """Add the tools of structs when the handlers have been asked."""

    async def plan(self: Planner, *given: Given) -> Plan:
        left: Plan = await right(self, *given)
        later = [
            ToolMeta(tool)
            for each in self.extensions.middlewares
            for tool in each.struct.additional_tools
        ]
        return _with_tools(left, later)

    return plan


def default_for_all(right: Right) -> Right:
    """Show each handler the same tools, and do what it does to them to the rest."""

    async def enter(
        self: Planner,
        name: Given,
        hook: Given,
        ctx: Given,
        config: AgentConfig,
        fold: Given,
    ) -> Given:
        before, default = config.tools, self.default_tools()
        config.tools = list(default)
        left = await right(self, name, hook, ctx, config, fold)
        added = [meta for meta in config.tools if meta not in default]
        gone = _names(default) - _names(config.tools)
        config.tools = [m for m in before if m.name not in gone | _names(added)] + added
        return left

    return enter


def no_fold(right: Right) -> Right:
    """Keep all entries that a handler leaves."""

    def update(self: ToolFold, left: Sequence[Any]) -> Given:
        self.one_entry = False
        return right(self, left)

    return update


def nothing_gone(right: Right) -> Right:
    """Say that no name was removed."""

    def update(self: ToolFold, left: Sequence[Given]) -> tuple[Metas, list[str]]:
        return right(self, left)[0], []

    return update


def resolving(posture: str, option: str) -> Patch:
    """Resolve what handlers left under another posture."""

    def replaced(right: Right) -> Right:
        def resolve(self: Planner, *given: Given) -> Plan:
            own, self.profile = self.profile, choosing(self.profile, posture, option)
            left: Plan = right(self, *given)
            self.profile = own
            return left

        return resolve

    return Patch(Planner, "_resolve", replaced)


def default_shown_only(right: Right) -> Right:
    """Show no tool that handlers added."""

    def resolve(
        self: Planner, ctx: Given, config: Given, default: Metas, *more: Given
    ) -> Plan:
        left: Plan = right(self, ctx, config, default, *more)
        shown = [info for info in left.shown if info.name in _names(default)]
        return replace(left, shown=tuple(shown))

    return resolve


def removed_shown(right: Right) -> Right:
    """Show the tools that handlers removed, too."""

    def resolve(
        self: Planner, ctx: Given, config: Given, default: Metas, *more: Given
    ) -> Plan:
        left: Plan = right(self, ctx, config, default, *more)
        names = {info.name for info in left.shown}
        gone = [meta.tool.info for meta in default if meta.name not in names]
        return replace(left, shown=(*left.shown, *gone))

    return resolve


def removed_run(right: Right) -> Right:
    """Let the tools that handlers removed run."""

    def resolve(
        self: Planner, ctx: Given, config: Given, default: Metas, *more: Given
    ) -> Plan:
        left: Plan = right(self, ctx, config, default, *more)
        gone = [m for m in default if m.name not in _names(left.runnable)]
        return replace(left, runnable=(*left.runnable, *gone))

    return resolve


def null_taken(right: Right) -> Right:
    """Take null for no tools."""

    def settle(self: Planner, name: Given, config: AgentConfig, fold: Given) -> None:
        config.tools = config.tools or []
        right(self, name, config, fold)

    return settle


def piling_up(right: Right) -> Right:
    """Start the next run with the tools of this one."""

    async def plan(self: Planner, *given: Given) -> Plan:
        left: Plan = await right(self, *given)
        self.config = replace(self.config, tools=left.runnable)
        return left

    return plan


def _with_tools(left: Plan, later: Sequence[ToolMeta]) -> Plan:
    return replace(
        left,
        shown=(*left.shown, *(meta.tool.info for meta in later)),
        runnable=(*left.runnable, *later),
    )


def _names(metas: Iterable[ToolMeta]) -> set[str]:
    return {meta.name for meta in metas}
