"""Engines that lose what hooks write: run-local values, options, edits in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.awaiting import settled
from refengine.context import Context, at_point
from refengine.messages import ToolCall
from refengine.tools import NO_OPTIONS

IN_PLACE: Final = (
    "What a hook edits in place is what it leaves, and is seen by nobody outside."
)


class _TrueLocals(dict[str, object]):
    """Run-local values, none of which is false, 0, empty or null."""

    def __setitem__(self, key: str, value: object) -> None:
        if value:
            super().__setitem__(key, value)


def _locals_as(kind: Callable[[], dict[str, object]]) -> Patch:
    """Let a run that is not kept hold its run-local values otherwise."""

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            if self.machine.types is None:
                self.locals = kind()
                self.ctx = at_point(self.ctx, self.run_path, None, self.locals)
            return right(self)

        return start

    return patch("loop.start", replaced)


def _first_call_only(right: Right) -> Right:
    """Give options to the first call of a message."""

    def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Context) -> Given:
        batch = right(self, calls, ctx)
        for run in batch.runs[1:]:
            run.input.call_options = NO_OPTIONS
        return batch

    return batch_of


def _into_the_callers_list() -> Sequence[Patch]:
    """Write what before-hooks leave into the list that the caller gave."""
    given: list[Given] = []

    def running(right: Right) -> Right:
        def run(self: Given, messages: Given, *more: Given, **how: Given) -> Given:
            given[:] = [messages]
            return right(self, messages, *more, **how)

        return run

    def writing(right: Right) -> Right:
        async def before_model(self: Given) -> Given:
            before = self.history
            ctx = await right(self)
            if self.history is not before and isinstance(given[0], list):
                given[0][:] = list(self.history.without(self.first))
            return ctx

        return before_model

    return patch("agent.run", running), patch("loop.before_model", writing)


def _entering(change: Callable[[Given, Given, Given], None]) -> Patch:
    """Change the configuration that a before_agent hook left, given what it had."""

    def replaced(right: Right) -> Right:
        async def enter(
            self: Given,
            name: Given,
            hook: Given,
            ctx: Given,
            config: Given,
            fold: Given,
        ) -> Given:
            async def entered(ctx: Given, config: Given) -> Given:
                tools, flags = config.tools, config.return_directly
                held = list(tools), None if flags is None else dict(flags)
                got = await settled(hook(ctx, config))
                change(config, tools, held)
                return got

            return await right(self, name, entered, ctx, config, fold)

        return enter

    return patch("planner.enter", replaced)


def _tools_in_place(config: Given, tools: Given, _: Given) -> None:
    if config.tools is not None:
        config.tools = tools


def _flags_set_anew(config: Given, _: Given, held: Given) -> None:
    if held[1] is not None:
        config.return_directly = held[1]


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "true-run-locals",
        "A run-local value that is false, 0, empty or null is not set.",
        "CTX-013",
        _locals_as(_TrueLocals),
    ),
    broken(
        "options-for-the-first-call",
        "Of the calls of a message the first is given the options of the run.",
        "WRAP-017",
        patch("loop.batch_of", _first_call_only),
    ),
    wrong(
        "callers-list-rewritten",
        "What before-model hooks leave is written into the caller's list.",
        "MSG-016",
        PatchedDoor("callers-list-rewritten", _into_the_callers_list),
    ),
    broken(
        "tools-set-anew-lost",
        "A list of tools that a handler puts in the place of its own does not count.",
        "TOOL-005 TOOL-007",
        _entering(_tools_in_place),
        says=IN_PLACE,
    ),
    broken(
        "flags-edited-in-place-lost",
        "Flags that a handler writes into the map of names do not count.",
        "RD-004",
        _entering(_flags_set_anew),
        under="eino-0.9",
        says=IN_PLACE,
    ),
)
