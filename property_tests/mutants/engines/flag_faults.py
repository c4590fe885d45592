"""What takes the place of the engine's own where it is wrong about direct calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from property_tests.mutants.patching import Replace
from refengine.compiled import CompiledAgent
from refengine.hooks import AgentConfig
from refengine.loop import Loop
from refengine.messages import History
from refengine.plan import DirectFlags, Plan, Planner, ToolFold
from refengine.profile import Profile, choosing
from refengine.tool_calls import AnyCall
from refengine.tools import ToolMeta

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type
Flags: TypeAlias = "Mapping[str, bool | None]"


def not_configured(right: Right) -> Right:
    """Leave the configuration out."""

    def made(self: DirectFlags, profile: Profile, _: Given, default: Given) -> None:
        right(self, profile, {}, default)

    return made


def configured_only(right: Right) -> Right:
    """Go by the configuration alone."""

    def made(self: DirectFlags, profile: Profile, *more: Given) -> None:
        right(self, choosing(profile, "return_directly", "configured"), *more)

    return made


def false_counts(right: Right) -> Right:
    """Let every configured name count."""

    def end(self: DirectFlags, left: Sequence[ToolMeta], by_name: Given) -> Given:
        return right(self, left, by_name) | frozenset(self._configured)

    return end


def never_cleared(right: Right) -> Right:
    """Let configured names count whatever handlers set."""

    def end(self: DirectFlags, left: Sequence[ToolMeta], by_name: Given) -> Given:
        true = {name for name, flag in self._configured.items() if flag}
        return right(self, left, by_name) | true

    return end


def shown_set(right: Right) -> Right:
    """Set the configured flags before the first handler."""

    def start(self: DirectFlags, default: Sequence[ToolMeta]) -> Given:
        metas, by_name = right(self, default)
        flags = self._configured
        return [
            replace(meta, return_directly=flags.get(meta.name, meta.return_directly))
            for meta in metas
        ], by_name

    return start


def first_counts(right: Right) -> Right:
    """Keep a flag that was set."""

    async def enter(self: Planner, *given: Given) -> Given:
        config: AgentConfig = given[3]
        before = _flags(config)
        left = await right(self, *given)
        config.tools = [_flagged(meta, before) for meta in config.tools]
        return left

    return enter


def added_false(right: Right) -> Right:
    """Set the flag of added tools to false."""

    async def enter(self: Planner, *given: Given) -> Given:
        config: AgentConfig = given[3]
        before = _flags(config)
        left = await right(self, *given)
        config.tools = [
            meta
            if meta.name in before or meta.return_directly is not None
            else replace(meta, return_directly=False)
            for meta in config.tools
        ]
        return left

    return enter


def hidden_from_next(right: Right) -> Right:
    """Take the flags away while a handler looks, and put back those it did not set."""

    async def enter(self: Planner, *given: Given) -> Given:
        config: AgentConfig = given[3]
        before = _flags(config)
        config.tools = [replace(m, return_directly=None) for m in config.tools]
        left = await right(self, *given)
        config.tools = [
            _flagged(m, before) if m.return_directly is None else m
            for m in config.tools
        ]
        return left

    return enter


def overwriting(right: Right) -> Right:
    """Append tools as they are, flag and all."""

    def append(self: ToolFold, metas: Sequence[ToolMeta]) -> None:
        right(self, metas)
        for meta in metas:
            if self.one_entry:
                self.metas[self.index[meta.name]] = meta

    return append


def piling_up(right: Right) -> Right:
    """Configure the next run with what returned directly in this one."""

    async def plan(self: Planner, *given: Given) -> Plan:
        left: Plan = await right(self, *given)
        flags = {**self.config.return_directly, **dict.fromkeys(left.direct, True)}
        self.config = replace(self.config, return_directly=flags)
        return left

    return plan


def all_direct(_: Right) -> Right:
    """Take the last call, whatever tool it has."""

    def direct(_: Loop, runs: Sequence[AnyCall]) -> AnyCall:
        return runs[-1]

    return direct


def first_direct(right: Right) -> Right:
    """Take the first direct call."""

    def direct(self: Loop, runs: Sequence[AnyCall]) -> Given:
        return right(self, runs[::-1])

    return direct


def all_or_none(right: Right) -> Right:
    """Take a direct call only if all are direct."""

    def direct(self: Loop, runs: Sequence[AnyCall]) -> AnyCall | None:
        found = [run for run in runs if right(self, [run]) is not None]
        return found[-1] if len(found) == len(runs) else None

    return direct


def unknown_counts(right: Right) -> Right:
    """Look at the configuration for every call."""

    def direct(self: Loop, runs: Sequence[AnyCall]) -> AnyCall | None:
        flags = self.machine.tools_config.return_directly
        found = [run for run in runs if flags.get(run.call.name)]
        answer: AnyCall | None = right(self, runs)
        return answer or (found[-1] if found else None)

    return direct


def asking_answers(right: Right) -> Right:
    """Answer with the last message that an assistant sent."""

    def settle(self: Loop, batch: Given) -> bool:
        ended: bool = right(self, batch)
        if ended:
            asked = [m for m in self.history if m.role == "assistant"]
            self.answer = asked[-1]
        return ended

    return settle


def others_lost(right: Right) -> Right:
    """Forget the results beside the answer."""

    def settle(self: Loop, batch: Given) -> bool:
        before = self.history
        ended: bool = right(self, batch)
        if ended and self.answer is not None:
            self.history = History(tuple(before)).appended(self.answer)
        return ended

    return settle


def event_at(option: str) -> Replace:
    """Tell the event of the ending call there."""

    def replaced(right: Right) -> Right:
        def made(self: Loop, machine: CompiledAgent, *more: Given) -> None:
            profile = choosing(machine.profile, "direct_event", option)
            right(self, replace(machine, profile=profile), *more)

        return made

    return replaced


def _flags(config: AgentConfig) -> Flags:
    return {meta.name: meta.return_directly for meta in config.tools}


def _flagged(meta: ToolMeta, flags: Flags) -> ToolMeta:
    flag = flags.get(meta.name)
    return meta if flag is None else replace(meta, return_directly=flag)
