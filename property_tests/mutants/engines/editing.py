"""Engines that lose what is edited in place, or hand out what the caller holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from property_tests.mutants.engines.values import IN_PLACE
from property_tests.mutants.models import asked
from property_tests.mutants.mutant import Door, Mutant
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
from refengine.chain import SCOPE
from refengine.context import Context
from refengine.tools import Options, ToolCallInput, as_meta


def _config_edits_lost(right: Right) -> Right:
    """Look at the list and the map that stood in the configuration as they were."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, fold: Given
    ) -> Given:
        async def entered(ctx: Given, config: Given) -> Given:
            tools, flags = config.tools, config.return_directly
            had = list(tools), None if flags is None else dict(flags)
            got = await settled(hook(ctx, config))
            if config.tools is tools:
                config.tools = had[0]
            if config.return_directly is flags:
                config.return_directly = had[1]
            return got

        return await right(self, name, entered, ctx, config, fold)

    return enter


def _first_input_counts() -> Sequence[Patch]:
    """Give the tool what the outermost wrapper's input holds."""
    first: dict[Given, ToolCallInput] = {}

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            first[self.scope] = self.input
            await right(self, ctx, streaming)

        return opened

    def running(right: Right) -> Right:
        async def run(ctx: Context, value: ToolCallInput) -> Given:
            return await right(ctx, first.get(SCOPE.get(), value))

        return run

    run = patch("tool.invoke", running), patch("tool.stream", running)
    return patch("call.open", opening), *run


def _result_edits_lost() -> Sequence[Patch]:
    """Remember what the tool's result object held, and take that if it comes out."""
    gave: dict[Given, tuple[Given, str]] = {}

    def running(right: Right) -> Right:
        async def run(ctx: Context, value: ToolCallInput) -> Given:
            result = await right(ctx, value)
            gave[SCOPE.get()] = result, result.result
            return result

        return run

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            await right(self, ctx, streaming)
            result, text = gave.get(self.scope, (None, ""))
            if result is not None and self.text == result.result:
                self.text = text

        return opened

    return patch("tool.invoke", running), patch("call.open", opening)


def _callers_tools() -> Sequence[Patch]:
    """Hand the first handler the very list of tools that the caller configured."""
    begun: set[Given] = set()

    def replaced(right: Right) -> Right:
        async def enter(
            self: Given,
            name: Given,
            hook: Given,
            ctx: Given,
            config: Given,
            fold: Given,
        ) -> Given:
            own = self.config.tools
            if fold not in begun and list(map(as_meta, own)) == config.tools:
                own[:] = config.tools
                config.tools = own
            begun.add(fold)
            return await right(self, name, hook, ctx, config, fold)

        return enter

    return (patch("planner.enter", replaced),)


def _model_options(change: Callable[[Options], Options]) -> Door:
    return asked(lambda given: (given[0], given[1], change(given[2])))


def _sorted(options: Options) -> Options:
    return {name: _in_order(value) for name, value in options.items()}


def _in_order(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    return sorted(cast("Sequence[object]", value), key=str)


def _named_plainly(options: Options) -> Options:
    return {name.strip().lower(): value for name, value in options.items()}


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "config-edits-lost",
        "What a handler edits in place in the configuration does not count.",
        "TOOL-005 TOOL-007",
        patch("planner.enter", _config_edits_lost),
        says=IN_PLACE,
    ),
    wrong(
        "new-inputs-ignored",
        "A tool is given the outermost input, whatever was handed on.",
        "WRAP-008",
        PatchedDoor("new-inputs-ignored", _first_input_counts),
    ),
    wrong(
        "result-edits-lost",
        "A result that a wrapper edits in place is the one before.",
        "WRAP-010 WRAP-011",
        PatchedDoor("result-edits-lost", _result_edits_lost),
    ),
    wrong(
        "callers-tools-edited",
        "Handlers edit the very list of tools that the caller gave.",
        "SURF-007",
        PatchedDoor("callers-tools-edited", _callers_tools),
    ),
    wrong(
        "options-in-order",
        "Lists among the options of a model call are sorted.",
        "WRAP-018",
        _model_options(_sorted),
    ),
    wrong(
        "options-as-text",
        "Names of options lose case and the space around them.",
        "WRAP-018",
        _model_options(_named_plainly),
    ),
)
