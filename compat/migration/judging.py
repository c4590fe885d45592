"""Judging a migration: both sides in the same worlds, compared, shrunk, explained.

    old, new → the same corpus → two traces each → first divergence, shrunk → relation

Source: verdicts, Migration. The old side is judged against itself first: what differs
there is noise, and nothing can be said about what is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from compat.migration.comparing import (
    Anew,
    Progress,
    SidePair,
    SideRunner,
    TracedWorld,
    by_channel,
    everything,
    noise_between,
    silent,
    unique,
)
from compat.migration.corpus import Corpus
from compat.migration.differing import GRAPHS, Mask, TraceChannels, broken, differences
from compat.migration.shrinking import shrink, size
from compat.verdicts.migration import (
    Allowed,
    Broken,
    Exercise,
    Migration,
    Noise,
    Side,
)
from compat.verdicts.relations import (
    DEFAULT_RELATION,
    RELATIONS,
    channels_of,
    strongest,
)
from compat.verdicts.sharpness import EquivalentMark
from refengine.testing.channels import CHANNELS
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.graph_worlds import fits_a_graph

P = TypeVar("P", bound=SideRunner)

UNSTEADY: Final = frozenset(("interleaving",))
UNSTEADY_FROM: Final = "same-up-to-volatile"
"""The first relation with a channel in which a graph may differ from itself."""


@dataclass(frozen=True, slots=True)
class Allow:
    """A declared intended difference and the smallest world that needs it."""

    mask: Mask
    reason: str
    world: Scenario


@dataclass(frozen=True, slots=True)
class Terms:
    """What a migration is held to, and what may differ.

    ``outside`` is what its subjects are not for, in the words of the settings, and
    ``marks`` are small changes of NEW that are declared equivalent.
    """

    required: str = DEFAULT_RELATION
    volatile: tuple[Mask, ...] = ()
    allowed: tuple[Allow, ...] = ()
    by_door: tuple[Mask, ...] = ()
    outside: tuple[str, ...] = ()
    marks: tuple[EquivalentMark, ...] = ()

    @property
    def masks(self) -> tuple[Mask, ...]:
        """All places that may differ."""
        allowed = (each.mask for each in self.allowed)
        return (*self.volatile, *allowed, *self.by_door)


@dataclass(slots=True)
class MigrationJudge(Generic[P]):
    """Judges new sides against one old side, which plays the corpus only once.

    ``anew`` opens a side once more, in a process of its own: what hangs on a process,
    such as the order of a set or what a module has gathered, differs only there.
    """

    old: P
    corpus: Corpus
    anew: Anew
    progress: Progress = silent
    _sessions: list[list[TracedWorld]] = field(default_factory=list[list[TracedWorld]])
    _played_old: list[TracedWorld] = field(default_factory=list[TracedWorld])
    _shown: list[TraceChannels] = field(default_factory=list[TraceChannels])
    _exercise: Exercise | None = None

    @property
    def worlds(self) -> list[Scenario]:
        """The worlds of the corpus, in order."""
        return [each.scenario for each in self.corpus.worlds]

    def judge(
        self, new: SideRunner, terms: Terms, *, explain: bool = True
    ) -> Migration:
        """Return the answer for one new side.

        Without ``explain`` a divergence is shrunk only if less holds than is required.
        Raises PlayError.
        """
        base = self._base(terms)
        noise = self._noise(terms.volatile)
        if noise:
            return replace(base, noise=noise, exercise={"old": self._exercised})
        if self.old.ways:
            terms = replace(terms, by_door=GRAPHS)
        # Who calls a graph in the only way it has needs that one.
        new.run_in(self.old.ways)
        played = self._play(new, "new")
        exercise: dict[Side, Exercise] = {"old": self._exercised, "new": new.exercise}
        # A graph's process takes seconds to import its frameworks: a folder has many.
        anew = self.anew if explain or not self.old.ways else nullcontext
        twice = self._twice(new, played, anew)
        noise = _noise_of("new", twice, terms.volatile, self._steady)
        if noise:
            return replace(base, noise=noise, exercise=exercise)
        sides = list(zip(self._shown, map(by_channel, played), strict=True))
        differing = [broken(*pair, tuple(CHANNELS), terms.masks) for pair in sides]
        bare = differing
        if terms.masks and not any(differing):
            bare = [broken(*pair, tuple(CHANNELS)) for pair in sides]
        base = replace(
            base,
            holds=strongest(
                frozenset[str]().union(*differing), masked=bare != differing
            ),
            exercise=exercise,
            unused=tuple(self._unused(sides, twice, terms)),
            broken=tuple(self._lacking(new, played)),
            allowed=tuple(self._used(each, new, terms) for each in terms.allowed),
        )
        if base.holds == RELATIONS[-1] or (base.sufficient and not explain):
            return base
        return self._explained(base, new, bare, terms, anew)

    def _base(self, terms: Terms) -> Migration:
        return Migration(
            required=terms.required,
            worlds=len(self.corpus.worlds),
            digest=self.corpus.digest,
            families=Counter(each.family for each in self.corpus.worlds),
        )

    def _play(self, side: SideRunner, phase: str) -> list[TracedWorld]:
        played: list[TracedWorld] = []
        for each in side.play_all(self.worlds):
            played.append(each)
            self.progress(phase, len(played), len(self.worlds))
        return played

    def _twice(
        self, new: SideRunner, played: Sequence[TracedWorld], anew: Anew
    ) -> tuple[Sequence[TracedWorld], Sequence[TracedWorld]]:
        """Return two sessions of the new side in the worlds that are short.

        The long ones, which use up the subject's words, take most of the time and would
        say no more of whether it is the same in another process.
        """
        pairs = zip(self.worlds, played, strict=True)
        some = [(world, first) for world, first in pairs if self._short(world)]
        with anew(new) as other:
            again = list(other.play_all([world for world, _ in some]))
        return [first for _, first in some], again

    def _noise(self, volatile: Sequence[Mask]) -> tuple[Noise, ...]:
        """Return the fields in which three sessions of the old side differ.

        The second one goes through the worlds backwards, to find in one world what
        another one left behind.
        """
        if not self._sessions:
            first = self._play(self.old, "old")
            self._exercise = self.old.exercise
            self._played_old = first
            self._shown = list(map(by_channel, first))
            again = self._repeated()
            pairs = zip(self.worlds, first, strict=True)
            firsts = [played for world, played in pairs if again(world)]
            worlds = [*filter(again, self.worlds)]
            backwards = [*self.old.play_all(worlds[::-1])][::-1]
            with self.anew(self.old) as other:
                anew = [*other.play_all(worlds)]
            self._sessions = [firsts, backwards, anew]
        return _noise_of("old", self._sessions, volatile, self._steady)

    @property
    def _steady(self) -> Sequence[str]:
        """The channels in which a side must not differ from itself.

        A graph may wait for a random time before it tries again, as its frameworks do
        by default, so the order of its concurrent calls may be another one each time.
        """
        return [each for each in CHANNELS if each not in UNSTEADY or not self.old.ways]

    def _repeated(self) -> Callable[[Scenario], bool]:
        """Return which worlds are played more than once: of slow graphs the short."""
        return self._short if self.old.ways else everything

    def _short(self, world: Scenario) -> bool:
        return len(world.model_script) <= self.corpus.repeated

    @property
    def _exercised(self) -> Exercise:
        """What one session a world made the old side do."""
        return self._exercise or self.old.exercise

    def _unused(
        self,
        sides: Sequence[tuple[TraceChannels, TraceChannels]],
        new: tuple[Sequence[TracedWorld], Sequence[TracedWorld]],
        terms: Terms,
    ) -> Iterator[str]:
        """Yield the volatile fields that differ nowhere, between sides or sessions."""
        rest = [(self._sessions[0], later) for later in self._sessions[1:]]
        pairs = [
            *sides,
            *(
                (by_channel(one), by_channel(other))
                for first, later in [*rest, new]
                for one, other in zip(first, later, strict=True)
            ),
        ]
        for mask in terms.volatile:
            found = (differences(*pair, (mask.channel,)) for pair in pairs)
            if not any(mask.covers(each) for some in found for each in some):
                yield f"{mask.channel} {mask.path}"

    def _lacking(
        self, new: SideRunner, played: Sequence[TracedWorld]
    ) -> Iterator[Broken]:
        """Yield each intended effect that a side does not have, with one world.

        Equal is not right: what either subject intends is looked for on both sides. A
        neighbour may undo it, so only worlds without neighbours are looked at.
        """
        sides: tuple[tuple[Side, Sequence[TracedWorld]], ...] = (
            ("old", self._played_old),
            ("new", played),
        )
        subjects = [each for each in (self.old, new) if each.intends]
        for side, each in sides:
            found: dict[str, Scenario] = {}
            for subject in subjects:
                for world, seen in zip(self.worlds, each, strict=True):
                    if not _has_neighbours(world):
                        for text in subject.broken(seen):
                            found.setdefault(text, world)
            yield from (Broken(side, text, world) for text, world in found.items())

    def _used(self, allow: Allow, new: SideRunner, terms: Terms) -> Allowed:
        """Tell whether the allowance's own world needs it; that alone decides."""
        sides = (
            by_channel(self.old.play(allow.world)),
            by_channel(new.play(allow.world)),
        )
        found = differences(*sides, masks=terms.volatile)
        used = any(allow.mask.covers(each) for each in found)
        return Allowed(allow.mask.channel, allow.mask.path, allow.reason, used)

    def _explained(
        self,
        base: Migration,
        new: SideRunner,
        differing: Sequence[frozenset[str]],
        terms: Terms,
        anew: Anew,
    ) -> Migration:
        """Shrink a world that breaks the next relation and name what is seen there."""
        weakest = RELATIONS[0 if base.holds is None else _strength(base.holds) + 1]
        channels = channels_of(weakest)
        usual = fits_a_graph if self.old.ways else everything
        fits = self.corpus.fits or usual
        pair = SidePair(
            self.old, new, terms.masks, self.progress, anew, fits, steady=self._steady
        )
        if weakest == RELATIONS[-1]:
            pair.masks = ()
        breaking = [
            world
            for world, names in zip(self.worlds, differing, strict=True)
            if not names.isdisjoint(channels)
        ]
        smallest = min(breaking, key=size)
        world = shrink(smallest, lambda each: pair.differs(each, channels))
        needed = channels_of(max(weakest, terms.required, key=_strength))
        diverging = sum(not names.isdisjoint(needed) for names in differing)
        found = replace(base, world=world, diverging=diverging)
        noise, divergence = pair.explained(world, needed, terms.volatile)
        if noise and base.sufficient and weakest == UNSTEADY_FROM and self.old.ways:
            return base  # it was the order of calls, which is another one each time
        return replace(found, noise=noise, divergence=divergence)


def _noise_of(
    side: Side,
    sessions: Sequence[Sequence[TracedWorld]],
    volatile: Sequence[Mask],
    channels: Sequence[str],
) -> tuple[Noise, ...]:
    return unique(
        each
        for world in zip(*sessions, strict=True)
        for each in noise_between(side, world, volatile, channels)
    )


def _has_neighbours(world: Scenario) -> bool:
    lists = ("middlewares", "handlers", "tool_call_middlewares")
    return any(getattr(agent, name) for agent in world.all_agents for name in lists)


def _strength(relation: str) -> int:
    return RELATIONS.index(relation)
