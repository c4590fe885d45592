"""What two sides did in the worlds of a corpus, and whether they do it again.

Each side plays each world once. Whether that can be relied on is seen in a sample of
the worlds, and in each one in which the sides differ: there both are played again, in
processes of their own, where sets have another order and modules remember nothing
(verdicts, Migration: old against old).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from compat.migration.corpus import Corpus
from compat.migration.differences import Mask, TraceChannels
from compat.migration.mended import BrokenWorld, WorldMender
from compat.migration.pairs import (
    Anew,
    Beside,
    BothPlayed,
    Pair,
    Progress,
    SideRunner,
    TracedWorld,
    by_channel,
    by_turns,
    noise_between,
    silent,
    unique,
)
from compat.verdicts.migration import Exercise, Noise, Side
from refengine.testing.channels import CHANNELS
from refengine.testing.own_failures import OwnFailure, failures_in
from refengine.testing.scenario import Scenario

SAMPLE: Final = 24
"""So many worlds are played again whether the sides differ there or not."""
SAMPLE_OF_GRAPHS: Final = 8
"""The same of graphs, each run of which takes milliseconds."""
SAMPLE_OF_PROGRAMS: Final = 3
"""The same of programs that are started for each session."""
SLICE: Final = 24
"""So many worlds are played at a time where there may soon have been enough."""
UNSTEADY: Final = frozenset(("interleaving",))
WAITS: Final = "waits"
"""The channel in which any side may differ from itself: a pause before what failed is
tried again has a random part, by default in frameworks, and in good code."""


Enough: TypeAlias = Callable[[Sequence[BothPlayed]], bool]
"""Whether what was played last makes all that comes after it needless."""


@dataclass(slots=True)
class SideSessions:
    """Plays one old side once, beside the first of its new ones, and again if needed.

    ``again`` are the worlds in which the old side was played once more, with all its
    sessions there.
    """

    old: SideRunner
    corpus: Corpus
    anew: Anew
    beside: Beside = by_turns
    progress: Progress = silent
    played: list[TracedWorld] = field(default_factory=list[TracedWorld])
    exercise: Exercise | None = None
    again: dict[int, list[TracedWorld]] = field(
        default_factory=dict[int, list[TracedWorld]]
    )
    _shown: list[TraceChannels] = field(default_factory=list[TraceChannels])
    _new: SideRunner | None = None
    _theirs: list[TracedWorld] = field(default_factory=list[TracedWorld])
    _open: ExitStack = field(default_factory=ExitStack)
    _twin: SideRunner | None = None
    _new_twin: tuple[SideRunner, ExitStack] | None = None
    _of_new: dict[int, list[TracedWorld]] = field(
        default_factory=dict[int, list[TracedWorld]]
    )

    def close(self) -> None:
        """End what was started to play the sides once more."""
        self._forget_new()
        self._open.close()

    @property
    def of_graphs(self) -> bool:
        """Whether the old side is a graph of another framework."""
        return bool(self.old.ways)

    @property
    def steady(self) -> Sequence[str]:
        """The channels in which a side must not differ from itself.

        A graph may wait for a random time before it tries again, as its frameworks do
        by default, so the order of its concurrent calls may be another one each time.
        """
        loose = {*UNSTEADY, WAITS} if self.of_graphs else {WAITS}
        return [each for each in CHANNELS if each not in loose]

    @property
    def slow(self) -> bool:
        """Whether a run takes milliseconds, so that less is played again."""
        return self.of_graphs or self.corpus.slow

    @property
    def sampled(self) -> int:
        """How many worlds are played again at most where the sides do not differ."""
        if self.corpus.costly:
            return SAMPLE_OF_PROGRAMS
        return SAMPLE_OF_GRAPHS if self.slow else SAMPLE

    def with_new(
        self, new: SideRunner, enough: Enough | None = None
    ) -> tuple[list[BothPlayed], list[TracedWorld]]:
        """Play both sides in the worlds in which they were not played yet.

        Where the old side was played before, the new one is until it is ``enough``.

        Whoever calls a graph in the only way it has needs that one, so the new side is
        played again where it took another. Raises PlayError.
        """
        if new is not self._new:
            self._forget_new()
            self._new, self._theirs = new, []
        first, before = len(self._theirs), len(self.played)
        self._alone(new, enough)
        self._together(new)
        new.run_in(self.old.ways)
        self._mend(new, range(before, len(self.played)))
        if self.of_graphs and new.ways and self.old.keeps and not new.keeps:
            self._leave_to_threads(new, range(first, len(self._theirs)))
        others = range(first, len(self._theirs))
        other = [at for at in others if self._is_lost(self._theirs[at].way)]
        replayed = new.play_all(self.worlds(other)) if other else ()
        for at, each in zip(other, replayed, strict=True):
            self._theirs[at] = each
        return [self._played_world(at) for at in range(len(self._theirs))], self._theirs

    def _is_lost(self, way: str | None) -> bool:
        return way is not None and way not in self.old.ways

    def _played_world(self, at: int) -> BothPlayed:
        entry, theirs = self.corpus.worlds[at], by_channel(self._theirs[at])
        refused = self.played[at].refused
        ours = self._shown[at]
        return BothPlayed(at, entry.scenario, entry.unusual, ours, theirs, refused)

    def _alone(self, new: SideRunner, enough: Enough | None) -> None:
        """Play the new side where the old one was played before."""
        first, last = len(self._theirs), len(self.played)
        step = SLICE if enough is not None else max(1, last - first)
        for at in range(first, last, step):
            some = range(at, min(at + step, last))
            for each in new.play_all(self.worlds(some)):
                self._theirs.append(each)
                self.progress("new", len(self._theirs), len(self.corpus.worlds))
            if enough is not None and enough([*map(self._played_world, some)]):
                return

    def _together(self, new: SideRunner) -> None:
        """Play both sides in what is left of the worlds."""
        some = range(len(self.played), len(self.corpus.worlds))
        pairs: list[Pair] = []
        for pair in self.beside(self.old, new, self.worlds(some)) if some else ():
            pairs.append(pair)
            self.progress("both sides", some.start + len(pairs), some.stop)
        # Only now: what was begun and not ended is played anew for another new side.
        self.played += [ours for ours, _ in pairs]
        self._shown += [by_channel(ours) for ours, _ in pairs]
        self._theirs += [theirs for _, theirs in pairs]
        if pairs:
            self.exercise = self.old.exercise

    def _mend(self, new: SideRunner, some: range) -> None:
        """Have better worlds in the places of those in which OLD's own code broke."""
        broken = [
            BrokenWorld(at, self.corpus.worlds[at].scenario, failure)
            for at in some
            if self.played[at].refused is not None
            for failure in [*failures_in(self.played[at].jsonl)][:1]
        ]
        if not broken:
            return

        seen: dict[int, TracedWorld] = {}  # by the id of a world, the last of that id

        def play(worlds: Sequence[Scenario]) -> list[OwnFailure | None]:
            played = [*self.old.play_all(worlds)] if worlds else []
            seen.update(zip(map(id, worlds), played, strict=True))
            return [next(failures_in(each.jsonl), None) for each in played]

        found = WorldMender(play, self.worlds()).mended(broken)
        self.exercise = self.old.exercise
        theirs = [*new.play_all([*found.values()])] if found else []
        self.corpus = self.corpus.with_worlds(found)
        for (at, world), each in zip(found.items(), theirs, strict=True):
            self.played[at], self._theirs[at] = seen[id(world)], each
            self._shown[at] = by_channel(self.played[at])

    def _leave_to_threads(self, new: SideRunner, some: range) -> None:
        """Have callers hand nothing on to a side that keeps no threads, as OLD does.

        Those of OLD give the id of a thread and what is new; they have no more.
        """
        found = {
            at: by_thread(world)
            for at, world in zip(some, self.worlds(some), strict=True)
            if any(run.continues is True for run in world.runs)  # not of another NEW
        }
        self.corpus = self.corpus.with_worlds(found)
        for at, each in zip(found, new.play_all([*found.values()]), strict=True):
            self._theirs[at] = each

    def worlds(self, some: Iterable[int] | None = None) -> list[Scenario]:
        """Return the worlds of the corpus, or those at some of its places."""
        all_worlds = self.corpus.worlds
        places = range(len(all_worlds)) if some is None else some
        return [all_worlds[at].scenario for at in places]

    def sample(self) -> list[int]:
        """Return the places of the worlds that are always played again.

        The long ones, which use up the subject's words, take most of the time and would
        say no more of whether a side does the same once more.
        """
        worlds = self.corpus.worlds
        short = [
            at
            for at, each in enumerate(worlds)
            if not self.slow or len(each.scenario.model_script) <= self.corpus.repeated
        ]
        return short[:: max(1, -(-len(short) // self.sampled))]

    def twin(self) -> SideRunner:
        """Return the old side in a process of its own."""
        if self._twin is None:
            self._twin = self._open.enter_context(self.anew(self.old))
        return self._twin

    def twin_of(self, new: SideRunner) -> SideRunner:
        """Return the new side in a process of its own, until another one is judged."""
        if self._new_twin is None:
            opened = ExitStack()
            self._new_twin = opened.enter_context(self.anew(new)), opened
        twin, _ = self._new_twin
        twin.run_in(self.old.ways)
        return twin

    def _forget_new(self) -> None:
        self._of_new = {}
        if self._new_twin is not None:
            self._new_twin[1].close()
            self._new_twin = None

    def repeated(
        self, twin: SideRunner, theirs: Sequence[TracedWorld], differing: Iterable[int]
    ) -> dict[int, list[TracedWorld]]:
        """Play both sides again in the sample and where they differ.

        ``twin`` is the new side in a process of its own. Returns all sessions of the
        new side in these worlds; those of the old one are kept. The sample is played
        backwards once, to find in one world what another one left behind. Where both
        were played again before, in a smaller corpus, nobody asks a third time. Raises
        PlayError.
        """
        sample = self.sample()
        if not self.again:
            backwards = [*self.old.play_all(self.worlds(sample[::-1]))][::-1]
            for at, each in zip(sample, backwards, strict=True):
                self.again[at] = [self.played[at], each]
        some = [at for at in sorted({*sample, *differing}) if at < len(theirs)]
        found = self._of_new
        left = [at for at in some if at not in found]
        for at, (ours, mine) in zip(left, self._elsewhere(twin, left), strict=True):
            self.again.setdefault(at, [self.played[at]]).append(ours)
            found[at] = [theirs[at], mine]
            self.progress("again", len(found), len(some))
        return dict(found)

    def _elsewhere(self, twin: SideRunner, some: Sequence[int]) -> Iterator[Pair]:
        return self.beside(self.twin(), twin, self.worlds(some))

    def noise(
        self,
        side: Side,
        sessions: Mapping[int, Sequence[TracedWorld]],
        volatile: Sequence[Mask],
    ) -> dict[int, tuple[Noise, ...]]:
        """Return the worlds in which sessions of one side differ, and in which fields.

        ``sessions`` are those of each world, by its place.
        """
        found = {
            at: unique(noise_between(side, some, volatile, self.steady))
            for at, some in sessions.items()
        }
        return {at: noise for at, noise in found.items() if noise}


def by_thread(world: Scenario) -> Scenario:
    """Return a world whose later turns go on by what their thread keeps alone."""
    runs = [
        run.model_copy(update={"continues": "thread"}) if run.continues else run
        for run in world.runs
    ]
    return world.model_copy(update={"runs": tuple(runs)})
