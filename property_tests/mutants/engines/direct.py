"""Engines that are wrong about which calls end a run with their result (RD)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from property_tests.mutants.around import under, with_tools_config
from property_tests.mutants.engines.tools import UNDER_RUNS, planned
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.messages import History
from refengine.tools import ToolMeta, as_meta

Flags: TypeAlias = "Mapping[str, bool | None]"


def _configured(planner: Given) -> Mapping[str, bool]:
    """Return the flags that stand before the handlers are asked, by name."""
    own = {
        meta.name: meta.return_directly
        for meta in planner.default_tools()
        if meta.return_directly is not None
    }
    return {**planner.config.return_directly, **own}


def _true(flags: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, flag in flags.items() if flag)


def _configured_only(planner: Given, left: Given) -> Given:
    return replace(left, direct=_true(_configured(planner)))


def _false_counts(planner: Given, left: Given) -> Given:
    return replace(left, direct=left.direct | _configured(planner).keys())


def _never_cleared(planner: Given, left: Given) -> Given:
    return replace(left, direct=left.direct | _true(_configured(planner)))


def _piling_up(planner: Given, left: Given) -> Given:
    """Configure the next run with what returned directly in this one."""
    flags = {**planner.config.return_directly, **dict.fromkeys(left.direct, True)}
    planner.config = replace(planner.config, return_directly=flags)
    return left


def _shown_set(right: Right) -> Right:
    """Set the configured flags before the first handler."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        handlers = self.extensions.handlers[self.extensions.leading :]
        with_hook = (each for each in handlers if "before_agent" in each.hooks)
        first = next(with_hook, None)
        if first is not None and first.position == name.position:
            flags = _configured(self)
            config.tools = [_flagged(meta, flags) for meta in config.tools]
        return await right(self, name, hook, ctx, config, *rest)

    return enter


def _first_counts(right: Right) -> Right:
    """Keep a flag that was set."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        before = _flags(config)
        left = await right(self, name, hook, ctx, config, *rest)
        config.tools = [_flagged(meta, before) for meta in config.tools]
        return left

    return enter


def _added_false(right: Right) -> Right:
    """Set the flag of added tools to false."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        before = _flags(config)
        left = await right(self, name, hook, ctx, config, *rest)
        config.tools = [
            meta
            if meta.name in before or meta.return_directly is not None
            else replace(meta, return_directly=False)
            for meta in config.tools
        ]
        return left

    return enter


def _hidden_from_next(right: Right) -> Right:
    """Take the flags away while a handler looks, and put back those it did not set."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        before = _flags(config)
        config.tools = [replace(m, return_directly=None) for m in config.tools]
        left = await right(self, name, hook, ctx, config, *rest)
        config.tools = [
            _flagged(m, before) if m.return_directly is None else m
            for m in config.tools
        ]
        return left

    return enter


def _overwriting(right: Right) -> Right:
    """Take tools that a handler appends as they are, flag and all."""

    def update(self: Given, left: Sequence[Given]) -> Given:
        known, before = len(self.metas), list(self.metas)
        _, gone = right(self, left)
        if all(new is old for new, old in zip(left, before, strict=False)):
            for meta in map(as_meta, left[known:]):
                self.metas[self.index[meta.name]] = meta
        return list(self.metas), gone

    return update


def _all_direct(_: Right) -> Right:
    def direct_call(_: Given, runs: Sequence[Given]) -> Given:
        return runs[-1]

    return direct_call


def _first_direct(right: Right) -> Right:
    def direct_call(self: Given, runs: Sequence[Given]) -> Given:
        return right(self, runs[::-1])

    return direct_call


def _unknown_counts(right: Right) -> Right:
    """Look at the configuration for every call."""

    def direct_call(self: Given, runs: Sequence[Given]) -> Given:
        flags = self.machine.tools_config.return_directly
        found = [run for run in runs if flags.get(run.call.name)]
        return right(self, runs) or (found[-1] if found else None)

    return direct_call


def _asking_answers(right: Right) -> Right:
    """Answer with the last message that an assistant sent."""

    def settle(self: Given, batch: Given) -> bool:
        ended: bool = right(self, batch)
        if ended:
            asking = [m for m in self.history if m.role == "assistant"]
            self.answer = asking[-1]
        return ended

    return settle


def _others_lost(right: Right) -> Right:
    """Forget the results beside the answer."""

    def settle(self: Given, batch: Given) -> bool:
        before = self.history
        ended: bool = right(self, batch)
        if ended and self.answer is not None:
            self.history = History(tuple(before)).appended(self.answer)
        return ended

    return settle


def _flags(config: Given) -> Flags:
    return {meta.name: meta.return_directly for meta in config.tools}


def _flagged(meta: ToolMeta, flags: Flags) -> ToolMeta:
    flag = flags.get(meta.name)
    return meta if flag is None else replace(meta, return_directly=flag)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "configured-flags-ignored",
        "What tools_config.return_directly says is never looked at.",
        "RD-001",
        with_tools_config(return_directly={}),
    ),
    broken(
        "every-tool-direct",
        "Every tool returns directly.",
        "RD-002",
        patch("loop.direct_call", _all_direct),
    ),
    broken(
        "configured-false-counts",
        "A name in tools_config.return_directly counts, true or false, as in eino.",
        "RD-003",
        planned(_false_counts),
    ),
    broken(
        "flags-of-handlers-ignored",
        "No handler can change which tools return directly, as before the refactor.",
        "RD-004 RD-005",
        planned(_configured_only),
    ),
    broken(
        "flags-never-cleared",
        "A handler cannot clear a configured flag, as in eino v0.8.",
        "RD-005",
        planned(_never_cleared),
    ),
    broken(
        "first-flag-counts",
        "Of several flags for a name the first one counts.",
        "RD-006",
        patch("planner.enter", _first_counts),
    ),
    broken(
        "added-tools-flagged-false",
        "A tool that a handler adds has the flag false (seed 001 §4.1).",
        "RD-007",
        patch("planner.enter", _added_false),
    ),
    broken(
        "first-direct-call-answers",
        "Of several direct calls the first in message order is the answer.",
        "RD-008",
        patch("loop.direct_call", _first_direct),
    ),
    wrong(
        "all-calls-direct",
        "A direct call ends the run only if no other call stands beside it.",
        "RD-009",
        under("direct_calls", "all"),
    ),
    broken(
        "calling-message-answers",
        "The answer of a direct call is the message that asked for it.",
        "RD-010",
        patch("loop.settle", _asking_answers),
    ),
    broken(
        "only-direct-result-kept",
        "Of the results of a message only that of the direct call is kept.",
        "RD-011",
        patch("loop.settle", _others_lost),
    ),
    broken(
        "flags-of-unknown-tools",
        "A configured flag ends the run for a tool that is not there.",
        "RD-012",
        patch("loop.direct_call", _unknown_counts),
    ),
    wrong(
        "direct-event-last",
        "The event of the call that ends the run comes after all others, as in eino.",
        "RD-013",
        under("direct_event", "last"),
    ),
    wrong(
        "direct-event-in-order",
        "The event of the call that ends the run is not held back.",
        "RD-013",
        under("direct_event", "call_order"),
        under="eino-0.9",
    ),
    broken(
        "configured-flags-shown-set",
        "The first handler sees configured flags as if they had been set.",
        "RD-014",
        patch("planner.enter", _shown_set),
    ),
    broken(
        "flags-hidden-from-next",
        "A handler does not see the flags that those before it set.",
        "RD-015",
        patch("planner.enter", _hidden_from_next),
    ),
    broken(
        "unset-flag-overwrites",
        "A tool without a flag takes that of an earlier one of its name away.",
        "RD-016",
        patch("planner.fold", _overwriting),
    ),
    broken(
        "flags-pile-up",
        "A run starts with the flags that handlers set in the one before.",
        "RD-017",
        planned(_piling_up),
        under=UNDER_RUNS,
    ),
)
