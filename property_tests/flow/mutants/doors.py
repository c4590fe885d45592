"""Doors to the reference of the Flow dialect with one of its steps or postures wrong.

A posture is wrong where the dialect plays under another option than its profile says:
that is the mutant of each posture on which what is expected depends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from compat.dialects.flow.profile import flow_profile
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario
from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.steps import FLOW_STEPS
from property_tests.mutants.patching import Patch, Replace
from refengine.postures import choosing
from refengine.testing.trace import Trace


@dataclass(frozen=True, slots=True)
class BrokenFlowDoor:
    """The reference dialect under patches, or under other postures than it says."""

    name: str
    under: str
    patches: Sequence[Patch] = ()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    version: str = ""
    capabilities: frozenset[str] = FlowDialect.capabilities

    @property
    def profile(self) -> Any:  # noqa: ANN401  # a FlowProfile
        """The profile that it says it has."""
        return flow_profile(self.under)

    def play(self, scenario: FlowScenario) -> Trace:
        """Play a scenario, wrongly."""
        profile = flow_profile(self.under)
        for posture, option in self.instead.items():
            profile = choosing(profile, posture, option)
        with ExitStack() as stack:
            for each in self.patches:
                each.install(stack)
            return play_flow(scenario, FlowDialect(profile))


def step(name: str, replace: Replace) -> Patch:
    """Return the patch of the step of that name; KeyError if there is none."""
    return Patch(FLOW_STEPS[name], replace)


def broken(
    id_: str,
    about: str,
    violates: str,
    patches: Callable[[], Sequence[Patch]],
    under: str = "flow-safe",
) -> DialectMutant:
    """Return the mutant under patches, which are made anew for each door to it."""
    return DialectMutant(
        id=id_,
        about=about,
        violates=tuple(violates.split()),
        door=lambda: BrokenFlowDoor(id_, under, patches()),
        under=under,
    )


def other_posture(
    posture: str, option: str, violates: str, under: str
) -> DialectMutant:
    """Return the mutant that has another option of a posture than it says."""
    id_ = f"flow-{posture.replace('_', '-')}-{option.replace('_', '-')}"
    return DialectMutant(
        id=id_,
        about=f"It says that it is {under}, and has {posture} {option}.",
        violates=tuple(violates.split()),
        door=partial(BrokenFlowDoor, id_, under, (), {posture: option}),
        under=under,
    )
