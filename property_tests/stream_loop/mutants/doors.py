"""Doors to the reference of the stream loop with a step or a posture wrong.

A posture is wrong where the loop plays under another option than its profile says: that
is the mutant of each posture on which what is expected depends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from compat.dialects.stream_loop.profile import LoopProfile, loop_profile
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.reference import StreamLoop
from compat.engines.stream_loop.scenario import LoopScenario
from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Patch, Replace
from property_tests.stream_loop.mutants.steps import LOOP_STEPS
from refengine.postures import choosing
from refengine.testing.trace import Trace


@dataclass(frozen=True, slots=True)
class BrokenLoopDoor:
    """The reference under patches, or under other postures than it says."""

    name: str
    under: str
    patches: Sequence[Patch] = ()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    version: str = ""
    capabilities: frozenset[str] = StreamLoop.capabilities

    @property
    def profile(self) -> LoopProfile:
        """The profile that it says it has."""
        return loop_profile(self.under)

    def play(self, scenario: LoopScenario) -> Trace:
        """Play a scenario, wrongly."""
        profile = loop_profile(self.under)
        for posture, option in self.instead.items():
            profile = choosing(profile, posture, option)
        with ExitStack() as stack:
            for each in self.patches:
                each.install(stack)
            return play_loop(scenario, StreamLoop(profile))


def step(name: str, replace: Replace) -> Patch:
    """Return the patch of the step of that name; KeyError if there is none."""
    return Patch(LOOP_STEPS[name], replace)


def broken(
    id_: str,
    about: str,
    violates: str,
    patches: Callable[[], Sequence[Patch]],
    under: str = "loop-safe",
) -> DialectMutant:
    """Return the mutant under patches, which are made anew for each door to it."""
    return DialectMutant(
        id=id_,
        about=about,
        violates=tuple(violates.split()),
        door=lambda: BrokenLoopDoor(id_, under, patches()),
        under=under,
    )


def other_posture(
    posture: str, option: str, violates: str, under: str
) -> DialectMutant:
    """Return the mutant that has another option of a posture than it says."""
    id_ = f"loop-{posture.replace('_', '-')}-{option.replace('_', '-')}"
    return DialectMutant(
        id=id_,
        about=f"It says that it is {under}, and has {posture} {option}.",
        violates=tuple(violates.split()),
        door=partial(BrokenLoopDoor, id_, under, (), {posture: option}),
        under=under,
    )
