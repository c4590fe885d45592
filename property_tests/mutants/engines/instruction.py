"""Engines that are wrong about what instruction an agent runs with (INS)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, Replace, patched
from refengine import plan as plan_module
from refengine.hooks import AgentConfig
from refengine.loop import Loop
from refengine.messages import History
from refengine.plan import Plan, Planner
from refengine.profile import Profile, choosing

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type
Text: TypeAlias = Callable[[str], str]


def _planned(change: Callable[[Planner, Plan], Plan]) -> Patch:
    """Change what the before_agent phase leaves."""

    def replaced(right: Right) -> Right:
        async def plan(self: Planner, *given: Given) -> Plan:
            return change(self, await right(self, *given))

        return plan

    return Patch(Planner, "plan", replaced)


def _with_text(change: Text) -> Patch:
    """Change the instruction that a run starts with."""
    return _planned(lambda _, left: replace(left, instruction=change(left.instruction)))


def _joined(change: Replace) -> Patch:
    """Change how structs' additions are joined."""
    return Patch(plan_module, "instruction_with", change)


def _under(posture: str, option: str) -> Replace:
    def replaced(right: Right) -> Right:
        def joined(base: str, additions: Iterable[str], profile: Profile) -> str:
            text: str = right(base, additions, choosing(profile, posture, option))
            return text

        return joined

    return replaced


def _last_first(right: Right) -> Right:
    def joined(base: str, additions: Iterable[str], profile: Profile) -> str:
        text: str = right(base, list(additions)[::-1], profile)
        return text

    return joined


def _stripped(right: Right) -> Right:
    def joined(base: str, additions: Iterable[str], profile: Profile) -> str:
        text: str = right(base, [each.strip() for each in additions], profile)
        return text

    return joined


def _base_only(_: Right) -> Right:

    def joined(base: str, *_: Given) -> str:
        return base

    return joined


def _structs_last(planner: Planner, left: Plan) -> Plan:
    structs = planner.extensions.middlewares  # it breaks the engine
    additions = "".join(f"\n{each.struct.additional_instruction}" for each in structs)
    return replace(left, instruction=left.instruction + additions)


def _base_for_all(right: Right) -> Right:
    """Show each handler the same instruction, and put what it adds behind the rest."""

    async def enter(
        self: Planner,
        name: Given,
        hook: Given,
        ctx: Given,
        config: AgentConfig,
        fold: Given,
    ) -> Given:
        before, base = config.instruction, self.instruction  # as above
        config.instruction = base
        left = await right(self, name, hook, ctx, config, fold)
        config.instruction = before + config.instruction.removeprefix(base)
        return left

    return enter


def _only_appended(right: Right) -> Right:
    """Keep what a handler does to the instruction only if it appends."""

    async def enter(
        self: Planner,
        name: Given,
        hook: Given,
        ctx: Given,
        config: AgentConfig,
        fold: Given,
    ) -> Given:
        before = config.instruction
        left = await right(self, name, hook, ctx, config, fold)
        if before and not config.instruction.startswith(f"{before} "):
            config.instruction = before
        return left

    return enter


def _first_counts(right: Right) -> Right:
    """Start with what the first handler left."""

    async def act(
        self: Planner, hooks: Given, ctx: Given, config: AgentConfig
    ) -> Given:
        left = await right(self, hooks[:1], ctx, config)
        if len(hooks) < 2:
            return left
        text = config.instruction
        left = await right(self, hooks[1:], left[0], config)
        config.instruction = text
        return left

    return act


def _piling_up(planner: Planner, left: Plan) -> Plan:
    planner.instruction = left.instruction  # as above
    return left


def _first_call_only(right: Right) -> Right:
    def sent(self: Loop) -> History:
        if self.iterations > 1:
            self.system = None
        history: History = right(self)
        return history

    return sent


def _taken_away(right: Right) -> Right:
    """Take the instruction out of the history after the first call."""

    async def answer(self: Loop, ctx: Given) -> Given:
        if self.first is not None and self.iterations > 1:
            self.history = History(tuple(self.history)[1:])
        return await right(self, ctx)

    return answer


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="instruction-stripped",
        about="White space around the instruction is lost.",
        violates=("INS-001",),
        wrong=patched("instruction stripped", _with_text(str.strip)),
    ),
    Mutant(
        id="instruction-by-default",
        about="An agent without an instruction is given one.",
        violates=("INS-002",),
        wrong=patched(
            "instruction by default", _with_text(lambda text: text or "Be helpful.")
        ),
    ),
    Mutant(
        id="additions-reversed",
        about="The last struct's addition comes first.",
        violates=("INS-003",),
        wrong=patched("additions reversed", _joined(_last_first)),
    ),
    Mutant(
        id="additions-stripped",
        about="White space around additional instructions is lost.",
        violates=("INS-003",),
        wrong=patched("additions stripped", _joined(_stripped)),
    ),
    Mutant(
        id="additions-lost",
        about="Additional instructions of structs are forgotten.",
        violates=("INS-003",),
        wrong=patched("additions lost", _joined(_base_only)),
    ),
    Mutant(
        id="additions-behind-a-blank-line",
        about="A blank line stands before an addition, as in eino v0.8.",
        violates=("INS-003",),
        wrong=patched(
            "additions behind a blank line",
            _joined(_under("separator", "blank_line")),
        ),
    ),
    Mutant(
        id="empty-additions-skipped",
        about="An empty addition leaves out its separator, as in eino v0.8.",
        violates=("INS-004",),
        wrong=patched(
            "empty additions skipped", _joined(_under("empty_addition", "skipped"))
        ),
    ),
    Mutant(
        id="empty-additions-kept",
        about="An empty addition brings its separator where the profile skips it.",
        violates=("INS-004",),
        wrong=patched(
            "empty additions kept", _joined(_under("empty_addition", "kept"))
        ),
        under="eino-0.9",
    ),
    Mutant(
        id="empty-base-replaced",
        about="The first addition to an empty instruction has no separator.",
        violates=("INS-005",),
        wrong=patched("empty base replaced", _joined(_under("empty_base", "replaced"))),
    ),
    Mutant(
        id="additions-after-handlers",
        about="Structs add to the instruction after the handlers were asked.",
        violates=("INS-006",),
        wrong=patched(
            "additions after handlers", _joined(_base_only), _planned(_structs_last)
        ),
    ),
    Mutant(
        id="handlers-see-the-base",
        about="Each handler sees the instruction as it was before any of them.",
        violates=("INS-007",),
        wrong=patched("handlers see the base", Patch(Planner, "enter", _base_for_all)),
    ),
    Mutant(
        id="first-instruction-counts",
        about="A run starts with the instruction that the first handler left.",
        violates=("INS-008",),
        wrong=patched(
            "first instruction counts", Patch(Planner, "_pass", _first_counts)
        ),
    ),
    Mutant(
        id="handlers-only-append",
        about="What a handler does to the instruction counts only behind a space.",
        violates=("INS-007", "INS-008"),
        wrong=patched("handlers only append", Patch(Planner, "enter", _only_appended)),
    ),
    Mutant(
        id="instruction-piles-up",
        about="Each run starts with the instruction that the one before ended with.",
        violates=("INS-009",),
        wrong=patched("instruction piles up", _planned(_piling_up)),
        under="eino-0.9",
    ),
    Mutant(
        id="instruction-once",
        about="Only the first request of a run holds the instruction.",
        violates=("INS-010",),
        wrong=patched("instruction once", Patch(Loop, "ask_model", _taken_away)),
    ),
    Mutant(
        id="instruction-with-the-first-call",
        about="Only the first call of the model is sent the instruction.",
        violates=("INS-010",),
        wrong=patched(
            "instruction with the first call", Patch(Loop, "_sent", _first_call_only)
        ),
        under="langchain-1",
    ),
)
