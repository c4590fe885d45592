"""Engines that are wrong about what instruction an agent runs with (INS)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from string import Template
from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.engines.messages import AS_IT_IS
from property_tests.mutants.engines.tools import planned
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    Replace,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.awaiting import settled
from refengine.messages import History


def _planned(change: Callable[[Given, Given], Given]) -> Patch:
    """Change what the before_agent phase leaves."""

    def replaced(right: Right) -> Right:
        async def plan(self: Given, *given: Given) -> Given:
            return change(self, await right(self, *given))

        return plan

    return patch("planner.plan", replaced)


def _with_text(change: Callable[[str], str]) -> Patch:
    """Change the instruction that a run starts with."""
    return _planned(lambda _, left: replace(left, instruction=change(left.instruction)))


def _joined(change: Replace) -> Patch:
    """Change how structs' additions are joined."""
    return patch("planner.instruction_with", change)


def _base_only(_: Right) -> Right:
    def joined(base: str, *_: Given) -> str:
        return base

    return joined


def _never_empty(planner: Given, left: Given) -> Given:
    return replace(left, instruction=left.instruction or planner.instruction)


def _structs_last(planner: Given, left: Given) -> Given:
    structs = planner.extensions.middlewares
    additions = "".join(f"\n{each.struct.additional_instruction}" for each in structs)
    return replace(left, instruction=left.instruction + additions)


def _base_for_all(right: Right) -> Right:
    """Show each handler the same instruction, and put what it adds behind the rest."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        before, base = config.instruction, self.instruction
        config.instruction = base
        left = await right(self, name, hook, ctx, config, *rest)
        config.instruction = before + config.instruction.removeprefix(base)
        return left

    return enter


def _only_appended(right: Right) -> Right:
    """Keep what a handler does to the instruction only if it appends."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Given, config: Given, *rest: Given
    ) -> Given:
        before = config.instruction
        left = await right(self, name, hook, ctx, config, *rest)
        if before and not config.instruction.startswith(f"{before} "):
            config.instruction = before
        return left

    return enter


def _first_counts(right: Right) -> Right:
    """Start with what the first handler left, of the adapted and of the rest."""

    def with_hook(self: Given, hook: str) -> Given:
        found = right(self, hook)
        if hook != "before_agent":
            return found
        first = self.handlers[: self.leading]
        adapted = sum(hook in each.hooks for each in first)
        return [*_first_kept(found[:adapted]), *_first_kept(found[adapted:])]

    return with_hook


def _first_kept(hooks: Given) -> Given:
    """Return the hooks of a pass, of which the last puts back what the first left."""
    if len(hooks) < 2:
        return hooks
    (first, first_hook), *between, (last, last_hook) = hooks
    texts: dict[int, str] = {}

    async def enter_first(ctx: Given, config: Given) -> Given:
        left = await settled(first_hook(ctx, config))
        texts[id(config)] = config.instruction
        return left

    async def enter_last(ctx: Given, config: Given) -> Given:
        left = await settled(last_hook(ctx, config))
        config.instruction = texts.pop(id(config))
        return left

    return [(first, enter_first), *between, (last, enter_last)]


def _piling_up(planner: Given, left: Given) -> Given:
    planner.instruction = left.instruction
    return left


def _first_call_only(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        found = right(self)
        if self.iterations > 1:
            self.system = None
        return found

    return next_iteration


def _taken_away(right: Right) -> Right:
    """Take the instruction out of the history after the first call."""

    async def ask_model(self: Given, ctx: Given) -> Given:
        if self.first is not None and self.iterations > 1:
            self.history = History(tuple(self.history)[1:])
        return await right(self, ctx)

    return ask_model


def _instruction(change: Callable[[str], str]) -> Patch:
    """Start runs with another instruction than handlers left."""
    return planned(lambda _, left: replace(left, instruction=change(left.instruction)))


class _Blank(dict[str, str]):
    """Variables of a template, all of which are empty."""

    def __missing__(self, key: str) -> str:
        return ""


def _filled_in(text: str) -> str:
    try:
        return text.format_map(_Blank())
    except (ValueError, IndexError, AttributeError):
        return text


def _dollars(text: str) -> str:
    return Template(text).safe_substitute()


def _mustaches(text: str) -> str:
    return re.sub(r"\{\{\s*\w+\s*\}\}", "", text)


def _additions(right: Right) -> Right:
    """Take what structs add to the instruction for templates."""

    def instruction_with(base: str, added: Iterable[str], profile: Given) -> str:
        return str(right(base, [_filled_in(each) for each in added], profile))

    return instruction_with


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "instruction-stripped",
        "White space around the instruction is lost.",
        "INS-001",
        _with_text(str.strip),
    ),
    wrong(
        "empty-additions-kept",
        "An empty addition brings its separator where the profile skips it.",
        "INS-004",
        under("empty_addition", "kept"),
        under="eino-0.9",
    ),
    broken(
        "additions-after-handlers",
        "Structs add to the instruction after the handlers were asked.",
        "INS-006",
        _joined(_base_only),
        _planned(_structs_last),
    ),
    broken(
        "handlers-see-the-base",
        "Each handler sees the instruction as it was before any of them.",
        "INS-007",
        patch("planner.enter", _base_for_all),
    ),
    broken(
        "first-instruction-counts",
        "A run starts with the instruction that the first handler left.",
        "INS-008",
        patch("extensions.with_hook", _first_counts),
    ),
    broken(
        "handlers-only-append",
        "What a handler does to the instruction counts only behind a space.",
        "INS-007",
        patch("planner.enter", _only_appended),
    ),
    broken(
        "instruction-piles-up",
        "Each run starts with the instruction that the one before ended with.",
        "INS-009",
        _planned(_piling_up),
        under="eino-0.9",
    ),
    broken(
        "instruction-once",
        "Only the first request of a run holds the instruction.",
        "INS-010",
        patch("loop.ask_model", _taken_away),
    ),
    broken(
        "instruction-with-the-first-call",
        "Only the first call of the model is sent the instruction.",
        "INS-010",
        patch("loop.next_iteration", _first_call_only),
        under="langchain-1",
    ),
    broken(
        "instruction-as-dollars",
        "An instruction is a template with dollar signs.",
        "INS-001",
        _instruction(_dollars),
        says=AS_IT_IS,
    ),
    broken(
        "instruction-as-mustaches",
        "Names in double braces are left out of an instruction.",
        "INS-001",
        _instruction(_mustaches),
        says=AS_IT_IS,
    ),
    broken(
        "additions-as-format",
        "What structs add to the instruction are templates.",
        "INS-003",
        patch("planner.instruction_with", _additions),
        says=AS_IT_IS,
    ),
    broken(
        "instruction-by-default",
        "An agent without an instruction is given one.",
        "INS-002",
        _with_text(lambda text: text or "Be helpful."),
    ),
    broken(
        "emptied-instruction-is-back",
        "An instruction that a handler emptied is that of the configuration.",
        "INS-008",
        _planned(_never_empty),
    ),
)
