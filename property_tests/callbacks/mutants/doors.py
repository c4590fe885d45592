"""Doors to the reference of sessions with callbacks with a step or a posture wrong.

A posture is wrong where they play under another option than their profile says: that
is the mutant of each posture on which what is expected depends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from compat.dialects.callbacks.profile import CallbacksProfile, callbacks_profile
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.reference import CallbacksV2
from compat.engines.callbacks.scenario import CallbacksScenario
from property_tests.callbacks.mutants.steps import CALLBACKS_STEPS
from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Patch, Replace
from refengine.postures import choosing
from refengine.testing.trace import Trace


@dataclass(frozen=True, slots=True)
class BrokenCallbacksDoor:
    """The reference under patches, or under other postures than it says."""

    name: str
    under: str
    patches: Sequence[Patch] = ()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    version: str = ""
    capabilities: frozenset[str] = CallbacksV2.capabilities

    @property
    def profile(self) -> CallbacksProfile:
        """The profile that it says it has."""
        return callbacks_profile(self.under)

    def play(self, scenario: CallbacksScenario) -> Trace:
        """Play a scenario, wrongly."""
        profile = callbacks_profile(self.under)
        for posture, option in self.instead.items():
            profile = choosing(profile, posture, option)
        with ExitStack() as stack:
            for each in self.patches:
                each.install(stack)
            return play_callbacks(scenario, CallbacksV2(profile))


def step(name: str, replace: Replace) -> Patch:
    """Return the patch of the step of that name; KeyError if there is none."""
    return Patch(CALLBACKS_STEPS[name], replace)


def broken(
    id_: str,
    about: str,
    violates: str,
    patches: Callable[[], Sequence[Patch]],
    under: str = "callbacks-v2",
) -> DialectMutant:
    """Return the mutant under patches, which are made anew for each door to it."""
    return DialectMutant(
        id=id_,
        about=about,
        violates=tuple(violates.split()),
        door=lambda: BrokenCallbacksDoor(id_, under, patches()),
        under=under,
    )


def other_posture(
    posture: str, option: str, violates: str, under: str
) -> DialectMutant:
    """Return the mutant that has another option of a posture than it says."""
    id_ = f"callbacks-{posture.replace('_', '-')}-{option.replace('_', '-')}"
    return DialectMutant(
        id=id_,
        about=f"It says that it is {under}, and has {posture} {option}.",
        violates=tuple(violates.split()),
        door=partial(BrokenCallbacksDoor, id_, under, (), {posture: option}),
        under=under,
    )
