"""What the right engine does in a world: its traces, and the steps that it takes.

A mutant that replaces steps of which the right engine takes none in a world does there
what the right engine does, so it needs not be played. Where it was played, and all that
a check looks at is as on the right engine, the check would decide as it does there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from property_tests.agreeing import Known, agree_tables
from property_tests.corpus import CorpusWorld
from property_tests.mutants import Mutant
from property_tests.mutants.patching import Patch, PatchedDoor, PatchedEngine, Right
from property_tests.mutants.steps import STEPS, EngineStep
from property_tests.playing import VariantPlayer, WorldRefusedError
from refengine.profile import Profile
from refengine.testing.trace import Trace

LONGEST: Final = 2_000
"""Longer traces are not kept: there are few, and they take much room."""


@dataclass(frozen=True, slots=True)
class RightPlay:
    """A world as the right engine played it, in some of its variants."""

    variants: frozenset[str]
    steps: frozenset[EngineStep] = frozenset()
    traces: Mapping[str, Trace] = field(default_factory=dict[str, Trace])

    def equal(self, traces: Mapping[str, Trace]) -> set[str]:
        """Return the variants of which these traces are the right engine's.

        One that is not plainly the same may be left out.
        """
        return {
            name
            for name, trace in traces.items()
            if name in self.traces and _same(self.traces[name], trace)
        }


class RightPlays:
    """Plays worlds on the right engine, each when it is asked for, and keeps it."""

    def __init__(self) -> None:
        self._seen: set[EngineStep] = set()
        self._players: dict[str, VariantPlayer] = {}
        self._found: dict[tuple[str, int], RightPlay] = {}

    def of(
        self, under: Profile, at: int, entry: CorpusWorld, variants: Collection[str]
    ) -> RightPlay:
        """Return the play of a world, ``at`` its place, in these variants or more."""
        key = (under.name, at)
        there = self._found.get(key, RightPlay(frozenset()))
        if key not in self._found or not there.variants.issuperset(variants):
            wanted = there.variants.union(variants)
            self._found[key] = self._played(self._player(under), entry, wanted)
        return self._found[key]

    def _player(self, under: Profile) -> VariantPlayer:
        if under.name not in self._players:
            engine = PatchedEngine("right", under, tuple(self._patches()))
            self._players[under.name] = VariantPlayer(engine, under)
        return self._players[under.name]

    def _patches(self) -> Iterator[Patch]:
        for step in STEPS.values():
            yield Patch(step, partial(_noting, partial(self._seen.add, step)))

    def _played(
        self, player: VariantPlayer, entry: CorpusWorld, variants: frozenset[str]
    ) -> RightPlay:
        self._seen.clear()
        try:
            case = player.case(entry.scenario, sorted(variants))
        except WorldRefusedError:
            return RightPlay(variants, frozenset(STEPS.values()))
        traces = {name: view.trace for name, view in case.views.items()}
        short = {name: e for name, e in traces.items() if len(e) <= LONGEST}
        return RightPlay(variants, frozenset(self._seen), short)


def _noting(note: Callable[[], object], right: Right) -> Right:
    def noted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as the step
        note()
        return right(*args, **kwargs)

    return noted


def steps_of(broken: Mutant) -> AbstractSet[EngineStep] | None:
    """Return the steps that a mutant replaces; None if it is broken in another way."""
    door = broken.wrong
    if not isinstance(door, PatchedDoor):
        return None
    patches = door.patches()
    steps = [each.step for each in patches if isinstance(each, Patch)]
    return {*steps} if len(steps) == len(patches) else None


def _same(ours: Trace, theirs: Trace) -> bool:
    known: Known = set()
    return len(ours) == len(theirs) and all(
        (a.kind, a.run, a.seq, a.call_id) == (b.kind, b.run, b.seq, b.call_id)
        and agree_tables(a.data, b.data, known)
        for a, b in zip(ours, theirs, strict=True)
    )
