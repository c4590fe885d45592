"""Engines that are wrong about which tool a call runs, and which ends a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from property_tests.mutants.around import under, with_tools_config
from property_tests.mutants.engines.tools import UNDER_RUNS, names, planned
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Replace,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.errors import ToolNotFound
from refengine.messages import History, ToolCall
from refengine.tool_calls import UnknownCall
from refengine.tools import ToolMeta


def _default_bound(_: Given, left: Given) -> Given:
    """Bind no tools that handlers added."""
    known = names(left.registered)
    runnable = tuple(meta for meta in left.runnable if meta.name in known)
    return replace(left, runnable=runnable)


def _removed_run(_: Given, left: Given) -> Given:
    """Let the tools that handlers removed run."""
    gone = [m for m in left.registered if m.name not in names(left.runnable)]
    return replace(left, runnable=(*left.runnable, *gone))


def _through_wrappers(right: Right) -> Right:
    """Send what unknown_tools_handler answers through the wrappers."""

    def prepare_call(self: Given, call: ToolCall, bound: Given) -> Given:
        run = right(self, call, bound)
        if not isinstance(run, UnknownCall):
            return run
        run.ask()
        return self.absent_call(call, run.text)

    return prepare_call


def _fail_late(right: Right) -> Right:
    """Run the calls whose tools are there before the unknown one ends the run."""

    def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Given) -> Given:
        try:
            return right(self, calls, ctx)
        except ToolNotFound as error:
            known = [call for call in calls if call.name in self.bound]
            return _LateBatch(right(self, known, ctx), error)

    return batch_of


class _LateBatch:
    """A batch that fails in the end."""

    def __init__(self, batch: Given, error: Exception) -> None:
        self._batch = batch
        self._error = error

    async def next_event(self) -> Given:
        event = await self._batch.next_event()
        if event is None:
            raise self._error
        return event

    def __getattr__(self, name: str) -> Given:
        return getattr(self._batch, name)


Flags: TypeAlias = "Mapping[str, bool | None]"


def _configured(planner: Given) -> Mapping[str, bool]:
    """Return the flags that stand before the handlers are asked, by name."""
    own = {
        meta.name: meta.return_directly
        for meta in planner.default_tools()
        if meta.return_directly is not None
    }
    return {**planner.config.return_directly, **own}


def _false_counts(planner: Given, left: Given) -> Given:
    return replace(left, direct=left.direct | _configured(planner).keys())


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


def _flags_after(flag: Callable[[ToolMeta, Flags], ToolMeta]) -> Replace:
    """Set the flag of each tool anew, behind each handler, by the flags before it."""

    def replaced(right: Right) -> Right:
        async def enter(
            self: Given,
            name: Given,
            hook: Given,
            ctx: Given,
            config: Given,
            *rest: Given,
        ) -> Given:
            before = _flags(config)
            left = await right(self, name, hook, ctx, config, *rest)
            config.tools = [flag(meta, before) for meta in config.tools]
            return left

        return enter

    return replaced


def _added_false(meta: ToolMeta, before: Flags) -> ToolMeta:
    """Set the flag of an added tool to false."""
    if meta.name in before or meta.return_directly is not None:
        return meta
    return replace(meta, return_directly=False)


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


def _first_direct(right: Right) -> Right:
    def direct_call(self: Given, runs: Sequence[Given]) -> Given:
        return right(self, runs[::-1])

    return direct_call


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


def _unknown_counts(right: Right) -> Right:
    """Look at the configuration for every call."""

    def direct_call(self: Given, runs: Sequence[Given]) -> Given:
        flags = self.machine.tools_config.return_directly
        found = [run for run in runs if flags.get(run.call.name)]
        return right(self, runs) or (found[-1] if found else None)

    return direct_call


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "added-tools-not-bound",
        "Tools that handlers add are offered, but a call of one does not find it.",
        "TOOL-016",
        planned(_default_bound),
    ),
    broken(
        "removed-tools-run",
        "A tool that a handler removed is not offered, but a call of it runs.",
        "TOOL-017",
        planned(_removed_run),
    ),
    wrong(
        "unknown-tools-handler-ignored",
        "A call of an unknown tool ends the run though unknown_tools_handler is there.",
        "TOOL-019",
        with_tools_config(unknown_tools_handler=None),
    ),
    broken(
        "siblings-run-first",
        "The calls before one of an unknown tool run, and then the run ends.",
        "TOOL-020",
        patch("loop.batch_of", _fail_late),
    ),
    broken(
        "unknown-calls-wrapped",
        "What unknown_tools_handler answers goes through the wrappers, with an event.",
        "TOOL-022",
        patch("loop.prepare_call", _through_wrappers),
    ),
    broken(
        "configured-false-counts",
        "A name in tools_config.return_directly counts, true or false, as in eino.",
        "RD-003",
        planned(_false_counts),
    ),
    broken(
        "first-flag-counts",
        "Of several flags for a name the first one counts.",
        "RD-006",
        patch("planner.enter", _flags_after(_flagged)),
    ),
    broken(
        "added-tools-flagged-false",
        "A tool that a handler adds has the flag false (seed 001 §4.1).",
        "RD-007",
        patch("planner.enter", _flags_after(_added_false)),
    ),
    broken(
        "first-direct-call-answers",
        "Of several direct calls the first in message order is the answer.",
        "RD-008",
        patch("loop.direct_call", _first_direct),
    ),
    broken(
        "only-direct-result-kept",
        "Of the results of a message only that of the direct call is kept.",
        "RD-011",
        patch("loop.settle", _others_lost),
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
        "flags-pile-up",
        "A run starts with the flags that handlers set in the one before.",
        "RD-017",
        planned(_piling_up),
        under=UNDER_RUNS,
    ),
    broken(
        "flags-of-unknown-tools",
        "A configured flag ends the run for a tool that is not there.",
        "RD-012",
        patch("loop.direct_call", _unknown_counts),
    ),
)
