"""COMPAT as a comparison of two traces: structs run natively, and adapted.

Contract §1: for every profile and every scenario without handlers the traces are
identical; under profiles whose after-hooks run in list order, also with handlers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, cast

from compat.engines.adapted import AdaptedEngine
from refengine.profile import PROFILES, Profile
from refengine.testing import (
    Divergence,
    Engine,
    ReferenceEngine,
    Scenario,
    Trace,
    clock,
    first_divergence,
    play,
)
from refengine.testing.trace import Observation

ABOUT_THE_LISTS: Final = frozenset(("MixedExtensionsWarning", "DeprecationWarning"))
"""What an engine says about which of the two lists is used."""

WORLDS: Final[Mapping[str, bool]] = MappingProxyType(
    {"failures": True, "unknown_calls": True, "counting": True, "delays": True}
)
"""The choices of ``scenarios`` under which COMPAT is searched: everything there is."""

SEARCHES: Final[tuple[tuple[str, bool], ...]] = tuple(
    (each.name, handlers)
    for each in PROFILES
    for handlers in (False, True)
    # eino-0.7 has no handlers to stand beside its structs.
    if not handlers or (each.after_hooks == "in_order" and each.name != "eino-0.7")
)
"""Where COMPAT holds: a profile, and whether worlds have handlers, too."""


def played(scenario: Scenario, engine: Engine) -> Trace:
    """Play a scenario on a virtual clock."""
    return clock.run(play(scenario, engine))


def adapting_divergence(scenario: Scenario, profile: Profile) -> Divergence | None:
    """Return where the native and the adapted trace first differ, None if nowhere."""
    native = played(scenario, ReferenceEngine(profile))
    adapted = played(scenario, AdaptedEngine(profile))
    return first_divergence(about_runs(native), about_runs(adapted))


def about_runs(trace: Trace) -> Trace:
    """Return the trace without warnings about the list that structs stand in.

    It is the one thing that COMPAT leaves out: to adapt is to move from one list to the
    other, which is what those warnings ask for.
    """
    return Trace(_kept(trace))


def _kept(trace: Trace) -> Iterator[Observation]:
    for each in trace:
        category = cast("str | None", each.data.get("category"))
        if each.kind != "warning" or category not in ABOUT_THE_LISTS:
            yield each
