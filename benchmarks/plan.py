"""What a run measures: rows of sides that take turns, each around the same middle.

The axes cross at 100 handlers, a history of 10 and one tool. One of them moves at a
time; the corners are where several are far out together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from benchmarks.kinds import KINDS, HandlerKind
from benchmarks.specs import Effort, Setting, SideSpec
from benchmarks.subject import NO_HOOK
from compat.verdicts.cost import Floor, Section
from refengine.hooks import ONION_HOOKS

Floors: TypeAlias = tuple[tuple[Floor, SideSpec], ...]

HISTORIES: Final = (100, 1_000, 10_000)
TOOLS: Final = (10, 100)
FAR: Final = 10_000
GROWTH: Final = (0, 1, 10, 30, 100, 300, 1_000, 3_000, 10_000)
GROWTH_QUICK: Final = (0, 1, 10, 100, 1_000)
BARE_UP_TO: Final = 300
"""Layers up to which the growth of an onion has a floor. What is measured is tried
first with parts that count, and those need two frames a layer."""
COPIES: Final = (1, 2, 5, 10, 20, 50)
QUICK_HOOKS: Final = ("before_model_rewrite_history", "wrap_invokable_tool_call")

FULL: Final = Effort(sets=8, rounds=10, seconds=0.004)
QUICK: Final = Effort(sets=5, rounds=5, seconds=0.002)
GROWING: Final = Effort(sets=5, rounds=5, seconds=0.003)
GROWING_QUICK: Final = Effort(sets=4, rounds=3, seconds=0.002)
BAR_ROUNDS: Final = 20
PROBING: Final = Effort(sets=5, rounds=5, seconds=0.01)


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One row of the report: a side, and the floors that it stands over."""

    section: Section
    name: str
    side: SideSpec
    floors: Floors

    @property
    def key(self) -> str:
        """Its name in every report: ``bench compare`` joins by it."""
        side = self.side
        without = [each.without for _, each in self.floors if each.without is not None]
        own = [f"without={position}" for position in without]
        own += [] if side.copies == 1 else [f"copies={side.copies}"]
        return "/".join([self.section, side.setting.key, *own])


def rows(*, quick: bool) -> Iterator[PlannedRow]:
    """Yield all rows of a run without a subject."""
    for kind in KINDS.values():
        yield over_both("hooks", kind.hook, kind.setting(100))
    chosen = [kind for kind in KINDS.values() if not quick or kind.hook in QUICK_HOOKS]
    for kind in chosen:
        yield from _axes(kind)
    for kind in chosen:
        if kind.hook in QUICK_HOOKS:
            yield from _corners(kind)
    for kind in KINDS.values():
        yield from _forms(kind)


def over_both(section: Section, name: str, setting: Setting) -> PlannedRow:
    """Return a row over the run by hand, and over the engine with no handler."""
    side = SideSpec("engine", setting)
    empty = replace(setting, n=0, form="handlers", plain=False)
    floors: list[tuple[Floor, SideSpec]] = [("no handlers", SideSpec("engine", empty))]
    floors.insert(0, ("bare Python", SideSpec("bare", setting)))
    return PlannedRow(section, name, side, tuple(floors))


def subject_rows(names: list[str], *, against: bool) -> Iterator[PlannedRow]:
    """Yield the rows of a user's subject: the whole of it, then each of its parts."""
    for name, setting in (
        ("invoked", Setting(NO_HOOK, n=len(names))),
        ("streamed", Setting(NO_HOOK, n=len(names), stream=True)),
        ("history of 1,000", Setting(NO_HOOK, n=len(names), history=1_000)),
        ("history of 10,000", Setting(NO_HOOK, n=len(names), history=10_000)),
    ):
        side = SideSpec("subject", setting)
        floors: list[tuple[Floor, SideSpec]] = [("no handlers", nobody(setting))]
        if against:
            floors.append(("against", SideSpec("against", setting)))
        yield PlannedRow("subject", name, side, tuple(floors))
    whole = SideSpec("subject", Setting(NO_HOOK, n=len(names)))
    for at, name in enumerate(names if len(names) > 1 else ()):
        part = SideSpec("subject", Setting(NO_HOOK, n=len(names)), without=at)
        yield PlannedRow("handlers", name, replace(whole), (("without it", part),))


def nobody(setting: Setting) -> SideSpec:
    """Return the engine with no handler, in a run like that of a setting."""
    return SideSpec("engine", replace(setting, hook=QUICK_HOOKS[0], n=0))


def growth_sides(
    kind: HandlerKind, *, quick: bool
) -> tuple[list[SideSpec], list[SideSpec]]:
    """Return ours and those by hand, with more and more handlers."""
    points = GROWTH_QUICK if quick else GROWTH
    ours = [SideSpec("engine", kind.setting(n)) for n in points]
    deepest = BARE_UP_TO if kind.hook in ONION_HOOKS else points[-1]
    bare = [SideSpec("bare", kind.setting(n)) for n in points if n <= deepest]
    return ours, bare


def _axes(kind: HandlerKind) -> Iterator[PlannedRow]:
    middle = kind.setting(100)
    moved: list[tuple[str, Setting]] = []
    if kind.unit == "run":
        moved += [
            (f"history of {length:,}", replace(middle, history=length))
            for length in HISTORIES
        ]
        moved.append(("streamed run", replace(middle, stream=True)))
    moved += [(f"{number} tools", replace(middle, tools=number)) for number in TOOLS]
    if kind.plain is not None:
        moved.append(("plain hooks", replace(middle, plain=True)))
    for what, setting in moved:
        yield over_both("axes", f"{kind.hook}: {what}", setting)


def _corners(kind: HandlerKind) -> Iterator[PlannedRow]:
    for n in (1, FAR):
        for history in (10, FAR):
            setting = Setting(kind.hook, n=n, history=history, tools=TOOLS[-1])
            yield over_both("corners", kind.hook, setting)


def _forms(kind: HandlerKind) -> Iterator[PlannedRow]:
    if kind.field is None:
        return
    native = SideSpec("engine", replace(kind.setting(100), form="native"))
    empty = SideSpec("engine", kind.setting(0))
    for form in ("adapted", "handlers"):
        side = SideSpec("engine", replace(native.setting, form=form))
        floors: Floors = (("native", native), ("no handlers", empty))
        yield PlannedRow("forms", f"{kind.field}: {form}", side, floors)
