"""Judging a migration: both sides in the same worlds, compared, shrunk, explained.

    old, new → the same corpus → two traces each → first divergence, shrunk → relation

Source: verdicts, Migration. A side that differs from itself is not a measure of another
one: what differs there is noise, and nothing holds. What diverges in worlds in which
both sides always do the same, diverges all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Generic, Literal, Self, TypeVar

from compat.migration.corpus import Corpus
from compat.migration.differences import (
    GRAPHS,
    Additions,
    Mask,
    TraceChannels,
    broken,
    differences,
)
from compat.migration.handed_worlds import handed_verdict, with_hand_over
from compat.migration.pairs import (
    WORST,
    Anew,
    Beside,
    BothPlayed,
    Explained,
    NamedWorld,
    Progress,
    SidePair,
    SideRunner,
    TracedWorld,
    Worst,
    by_channel,
    by_turns,
    everything,
    groups_of,
    hidden_divergence,
    named_worlds,
    silent,
    typical,
    unique,
    unusual_divergence,
)
from compat.migration.points import EnginePoint
from compat.migration.sessions import (
    Enough,
    SideSessions,
)
from compat.migration.shrink import OWN_NAMES, TRIES, WORDS, ShrinkEffort, shrink
from compat.verdicts.migration import (
    Allowed,
    Broken,
    Exercise,
    Migration,
    PointsVerdict,
    PointVerdict,
    Side,
    UnusualDivergence,
)
from compat.verdicts.relations import (
    DEFAULT_RELATION,
    RELATIONS,
    channels_of,
    strength,
    strongest,
)
from compat.verdicts.sharpness import EquivalentMark
from refengine.testing.channels import CHANNELS
from refengine.testing.own_failures import failures_in
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.graph_worlds import fits_a_graph

P = TypeVar("P", bound=SideRunner)

OFTEN: Final = 4
"""So often both sides play a world that is to be steady, three times each."""
UNSTEADY_FROM: Final = "same-up-to-volatile"
"""The first relation with a channel in which a graph may differ from itself."""
TRIES_OF_GRAPHS: Final = 150
"""So many worlds are played at most to make one of a graph smaller."""
IN_VAIN_OF_PROGRAMS: Final = 25
"""So many in a row, of programs that are started for each session, show nothing."""
TRIES_IN_A_FOLDER: Final = 40
"""So many are played at most where many are judged, and most reports are not read."""


@dataclass(frozen=True, slots=True)
class Allow:
    """A declared intended difference and the smallest world that needs it."""

    masks: Sequence[Mask]
    reason: str
    world: Scenario


@dataclass(frozen=True, slots=True)
class Terms:
    """What a migration is held to, and what may differ.

    ``outside`` is what its subjects are not for, in the words of the settings, and
    ``marks`` are small changes of NEW that are declared equivalent. With
    ``everywhere``, unusual worlds count as ordinary ones do. ``shows`` is the code that
    a divergence is declared to have: where runs are slow and many sides are judged, one
    that has shown it need not be played in all worlds. ``worst`` is told first.
    """

    required: str = DEFAULT_RELATION
    volatile: tuple[Mask, ...] = ()
    allowed: tuple[Allow, ...] = ()
    by_door: tuple[Mask, ...] = ()
    outside: tuple[str, ...] = ()
    marks: tuple[EquivalentMark, ...] = ()
    everywhere: bool = False
    shows: str | None = None
    worst: Worst = WORST

    @property
    def masks(self) -> tuple[Mask, ...]:
        """All places that may differ."""
        allowed = (mask for each in self.allowed for mask in each.masks)
        return (*self.volatile, *allowed, *self.by_door)


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """What one new side did in all worlds: where it differs, in which channels."""

    worlds: Sequence[BothPlayed]
    differing: Mapping[int, frozenset[str]]
    masked: bool

    @property
    def inside(self) -> list[BothPlayed]:
        """The worlds in which the old side works."""
        return [each for each in self.worlds if each.refused is None]

    def those(self, *, unusual: bool) -> list[BothPlayed]:
        """Return the worlds that are unusual, or those that are ordinary."""
        return [each for each in self.inside if (each.unusual is not None) == unusual]

    def without(self, places: Collection[int]) -> Self:
        """Return the same but for the worlds in these places."""
        return replace(
            self,
            worlds=[each for each in self.worlds if each.at not in places],
            differing={at: n for at, n in self.differing.items() if at not in places},
        )

    def breaks(self, relation: str) -> bool:
        """Tell whether an ordinary world breaks a relation."""
        held = self.holds(self.those(unusual=False))
        return held is None or strength(held) < strength(relation)

    def breaking(self, relation: str) -> frozenset[int]:
        """Return the places of all worlds that break a relation."""
        channels = frozenset(channels_of(relation))
        return frozenset(at for at, n in self.differing.items() if channels & n)

    def holds(self, worlds: Sequence[BothPlayed]) -> str | None:
        """Return the strongest relation that holds in all of these worlds."""
        none = frozenset[str]()
        found = none.union(*(self.differing.get(each.at, none) for each in worlds))
        return strongest(found, masked=self.masked)


@dataclass(slots=True)
class MigrationJudge(Generic[P]):
    """Judges new sides against one old side, which plays the corpus only once.

    ``anew`` opens a side once more, in a process of its own: what depends on a process,
    such as the order of a set or what a module has gathered, differs only there. The
    corpus may grow between two judgements; then only what is new in it is played. With
    ``hand_over`` worlds join it in which NEW goes on with a run that OLD kept.
    """

    old: P
    corpus: Corpus
    anew: Anew
    progress: Progress = silent
    beside: Beside = by_turns
    hand_over: bool = False
    _sessions: SideSessions | None = None

    @property
    def sessions(self) -> SideSessions:
        """What both sides were seen to do so far."""
        if self._sessions is None:
            self._sessions = SideSessions(
                self.old, self.corpus, self.anew, self.beside, self.progress
            )
        self._sessions.corpus = self.corpus
        return self._sessions

    @property
    def by_shape(self) -> tuple[Mask, ...]:
        """Where sides of this shape may differ, whatever is ported."""
        graphs = GRAPHS if self.sessions.of_graphs else ()
        added = (Additions(*each) for each in self.corpus.additions)
        return (*graphs, *added, *(Mask(*e) for e in self.corpus.uncompared))

    def close(self) -> None:
        """End what was started to play the old side once more."""
        self.sessions.close()

    def judge(
        self, new: SideRunner, terms: Terms, *, explain: bool = True
    ) -> Migration:
        """Return the answer for one new side.

        Without ``explain`` a divergence is only told if less holds than is required,
        in a world that is not made much smaller. Raises PlayError.
        """
        sessions = self.sessions
        enough = None if explain else self._enough(terms)
        try:
            worlds, theirs = sessions.with_new(new, enough)
            if self.hand_over and self.old.keeps and new.keeps:
                sessions.corpus = with_hand_over(
                    sessions.corpus,
                    sessions.played,
                    self.old.keeps,
                    of_graphs=sessions.of_graphs,
                )
                worlds, theirs = sessions.with_new(new, enough)
        finally:  # worlds that were mended stay so, though NEW could not be played
            self.corpus = sessions.corpus
        terms = replace(terms, by_door=(*terms.by_door, *self.by_shape))
        if self.hand_over and not new.keeps:
            worlds = [each for each in worlds if each.scenario.hand_over is None]
        if terms.everywhere:
            worlds = [replace(each, unusual=None) for each in worlds]
        compared = _compared(worlds, terms)
        base = replace(
            self._base(terms, compared, new),
            failures={
                "old": failures_of(sessions.played[: len(theirs)]),
                "new": failures_of(theirs),
            },
        )
        if base.nothing_ran:
            return base
        twin = self._again(new, explain=explain)
        places = sorted(compared.differing)
        differing = self._replayed(places, explain=explain)
        again = sessions.repeated(twin, theirs, differing)
        ours = sessions.again
        old = sessions.noise("old", ours, terms.volatile)
        noise = {**sessions.noise("new", again, terms.volatile), **old}
        if noise:
            # What was not played again may be noise as well.
            compared = compared.without({*noise, *(set(places) - again.keys())})
            if not compared.breaks(terms.required):
                found = chain.from_iterable((old or noise).values())
                return replace(base, noise=unique(found))
        base = replace(
            base,
            unsteady=len(noise),
            points=points_of(self.corpus, compared, terms.required),
            hand_over=handed_verdict(
                (self.old, new), compared.worlds, compared.breaking(terms.required)
            )
            if self.hand_over
            else None,
            holds=_held(compared, terms),
            unused=tuple(_unused(compared, [*ours.values(), *again.values()], terms)),
            broken=tuple(self._lacking(new, theirs, compared)),
            allowed=tuple(self._used(each, new, terms) for each in terms.allowed),
        )
        if base.sufficient:
            base = replace(base, unusual=_elsewhere(compared, terms))
        effort = _effort(sessions, explain=explain)
        if base.holds == RELATIONS[-1] or (base.sufficient and not explain):
            return base
        return self._explained(
            base, (new, twin), compared, terms, effort, keeps=explain
        )

    def _again(self, new: SideRunner, *, explain: bool) -> SideRunner:
        # A graph's process takes seconds to import its frameworks: a folder has many.
        here = self.sessions.slow and not explain
        return new if here else self.sessions.twin_of(new)

    def _enough(self, terms: Terms) -> Enough | None:
        """Return what tells that a side has shown what it is declared to show.

        Whether a volatile field is used is only known after all worlds.
        """
        code = terms.shows
        if code is None or terms.volatile or not self.sessions.slow:
            return None
        channels = channels_of(terms.required)

        def enough(some: Sequence[BothPlayed]) -> bool:
            usual = [e for e in some if e.refused is None and e.unusual is None]
            masks = (*terms.masks, *self.by_shape)
            named = named_worlds(usual, channels, masks)
            return any(each.kind.code == code for each in named)

        return enough

    def _replayed(self, places: Sequence[int], *, explain: bool) -> Sequence[int]:
        """Return the worlds with a difference in which both sides play once more.

        What shows is looked at again when it is made smaller, so of slow ones in a
        folder a few will do.
        """
        if self.corpus.costly or (self.sessions.slow and not explain):
            return places[:: max(1, -(-len(places) // self.sessions.sampled))]
        return places

    def _base(
        self, terms: Terms, compared: ComparedSides, new: SideRunner
    ) -> Migration:
        """Return what is known before anything is compared."""
        outside = Counter(each.refused for each in compared.worlds if each.refused)
        exercise: dict[Side, Exercise] = {
            "old": self.sessions.exercise or self.old.exercise,
            "new": new.exercise,
        }
        return Migration(
            required=terms.required,
            worlds=len(compared.worlds),
            digest=self.corpus.digest,
            families=Counter(each.family for each in self.corpus.worlds),
            exercise=exercise,
            outside=dict(outside.most_common()),
            left_out=Counter(
                self.corpus.worlds[each.at].family
                for each in compared.worlds
                if each.refused
            ),
            ordinary=len(compared.those(unusual=False)),
            apart=len(compared.those(unusual=True)),
            unbuilt=_only_old_is_built(compared.inside),
            moved=self.corpus.moved,
            own_tools=self.corpus.spoken.own_tools,
        )

    def _lacking(
        self, new: SideRunner, theirs: Sequence[TracedWorld], compared: ComparedSides
    ) -> Iterator[Broken]:
        """Yield each intended effect that a side does not have, with one world.

        Equal is not right: what either subject intends is looked for on both sides. A
        neighbour may undo it, so only worlds without neighbours are looked at.
        """
        sides: tuple[tuple[Side, Sequence[TracedWorld]], ...] = (
            ("old", self.sessions.played),
            ("new", theirs),
        )
        subjects = [each for each in (self.old, new) if each.intends]
        plain = [each for each in compared.inside if not _has_neighbours(each.scenario)]
        for side, played in sides if subjects else ():
            found: dict[str, Scenario] = {}
            for subject in subjects:
                for each in plain:
                    for text in subject.broken(played[each.at]):
                        found.setdefault(text, each.scenario)
            yield from (Broken(side, text, world) for text, world in found.items())

    def _used(self, allow: Allow, new: SideRunner, terms: Terms) -> Allowed:
        """Tell whether the allowance's own world needs it; that alone decides."""
        ((ours, theirs),) = self.beside(self.old, new, [allow.world])
        sides = by_channel(ours), by_channel(theirs)
        found = differences(*sides, masks=terms.volatile)
        used = any(mask.covers(each) for mask in allow.masks for each in found)
        channels = ", ".join(mask.channel for mask in allow.masks)
        return Allowed(channels, allow.masks[0].path, allow.reason, used)

    def _explained(
        self,
        base: Migration,
        news: tuple[SideRunner, SideRunner],
        compared: ComparedSides,
        terms: Terms,
        effort: ShrinkEffort,
        *,
        keeps: bool,
    ) -> Migration:
        """Shrink a typical world that breaks what is asked for, and name what it shows.

        If all that is required holds, one that breaks the next relation. Who interrupts
        that ``keeps`` the smallest world so far.
        """
        held = -1 if base.holds is None else strength(base.holds)
        wanted = RELATIONS[max(held + 1, strength(terms.required))]
        masks = () if wanted == RELATIONS[-1] else terms.masks
        channels = channels_of(wanted)
        ordinary = compared.those(unusual=False)
        named = named_worlds(ordinary, channels, masks)
        if not named:  # all that differs is in unusual worlds
            return base
        fits = self._fits(terms)
        start = typical(named, fits, terms.worst)
        pair = self._pair(news, channels, masks, fits)
        world, interrupted = start.world.scenario, False
        kinds = [start.kind, *map(start.kind.of_tool, WORDS.tools)]
        given = self.corpus.worlds[start.world.at].given

        def shows(each: Scenario) -> bool:
            nonlocal world
            found = pair.shows(each, kinds)
            world = each if found else world
            return found

        try:
            shrink(world, shows, effort, OWN_NAMES if given else WORDS)
        except KeyboardInterrupt:
            if not keeps:
                raise
            interrupted = True
        noise, divergence = pair.explained(world, terms.volatile)
        if not given and divergence is not None:
            world, divergence = pair.worded(world, divergence, terms.volatile)
        if base.unsteady:
            world, (noise, divergence) = self._steadily(pair, start, world, terms)
        if noise and base.sufficient and wanted == UNSTEADY_FROM and self.old.ways:
            return base  # it was the order of calls, which is another one each time
        groups = groups_of(named, terms.worst)
        hidden = None
        if divergence is not None:
            among = (ordinary, channels, masks, divergence, groups)
            hidden = hidden_divergence(*among)
        # Worlds of points come first: where play ended early, all others are unknown.
        whole = base.worlds == len(self.corpus.worlds)
        point = self._point_alone(named, start) if whole else None
        return replace(
            base,
            hidden=hidden,
            point=_point_of(base, point),
            world=world,
            diverging=len(named),
            groups=groups,
            noise=noise,
            divergence=divergence,
            interrupted=interrupted,
        )

    def _steadily(
        self, pair: SidePair, start: NamedWorld, smaller: Scenario, terms: Terms
    ) -> tuple[Scenario, Explained]:
        """Return a world in which neither side differs from itself, however often.

        To be the same twice is luck for what differs from itself elsewhere; and on the
        way to a smaller world it may have begun to do so there.
        """
        found: Explained = ((), None)
        for world in (smaller, start.world.scenario):
            for _ in range(OFTEN):
                found = pair.explained(world, terms.volatile)
                if found[0]:
                    break
            else:
                return world, found
        return start.world.scenario, found

    def _point_alone(
        self, named: Sequence[NamedWorld], shown: NamedWorld
    ) -> str | None:
        """Return the point of what is shown, if worlds of points alone show that."""
        alike = (each for each in named if each.kind == shown.kind)
        points = {self.corpus.worlds[each.world.at].point for each in alike}
        return None if None in points else self.corpus.worlds[shown.world.at].point

    def _pair(
        self,
        news: tuple[SideRunner, SideRunner],
        channels: Sequence[str],
        masks: Sequence[Mask],
        fits: Callable[[Scenario], bool],
    ) -> SidePair:
        new, twin = news
        return SidePair(
            (self.old, new),
            (self.sessions.twin(), twin),
            masks,
            channels,
            self.beside,
            self.progress,
            fits,
            self.sessions.steady,
        )

    def _fits(self, terms: Terms) -> Callable[[Scenario], bool]:
        """Return which worlds may stand for others: those of their kind, ordinary."""
        usual = fits_a_graph if self.sessions.of_graphs else everything
        fits = self.corpus.fits or usual
        if terms.everywhere:
            return fits
        return lambda world: fits(world) and self.corpus.unusual(world) is None


def points_of(
    corpus: Corpus, compared: ComparedSides, required: str
) -> PointsVerdict | None:
    """Return which points were played, and where the sides differ in them."""
    found = corpus.points
    if found is None:
        return None
    broken_by = frozenset(channels_of(required))
    each = tuple(_at_point(p, corpus, compared, broken_by) for p in found.pair.points)
    return PointsVerdict(found.pair.old, found.pair.new, found.pair.guide, each)


def _at_point(
    point: EnginePoint,
    corpus: Corpus,
    compared: ComparedSides,
    channels: frozenset[str],
) -> PointVerdict:
    absent = corpus.points and corpus.points.absent.get(point.id)
    played = [e for e in compared.worlds if corpus.worlds[e.at].point == point.id]
    inside = [each for each in played if each.refused is None]
    refused = Counter(each.refused for each in played if each.refused).most_common(1)
    state: Literal["played", "absent", "unplayed"] = "played"
    reason = ""
    if absent:
        state, reason = "absent", absent
    elif not inside and refused:
        state, reason = "absent", f"OLD cannot be run there: {refused[0][0]}"
    elif not inside:
        state, reason = "unplayed", "its worlds were left out"
    none = frozenset[str]()
    differing = [e for e in inside if channels & compared.differing.get(e.at, none)]
    many = len(inside), len(differing)
    return PointVerdict(point.id, point.says, point.about, state, reason, *many)


def _point_of(base: Migration, name: str | None) -> PointVerdict | None:
    points = () if base.points is None else base.points.each
    return next((each for each in points if each.id == name), None)


def failures_of(played: Iterable[TracedWorld]) -> dict[str, int]:
    """Return what broke in a side's own code, each with how many sessions it ended."""
    first = (next(failures_in(each.jsonl), None) for each in played)
    return dict(Counter(str(each) for each in first if each).most_common())


def _compared(worlds: Sequence[BothPlayed], terms: Terms) -> ComparedSides:
    """Return in which channels the sides differ, world by world."""
    inside = [each for each in worlds if each.refused is None]
    channels = tuple(CHANNELS)
    found = {each.at: broken(*each.sides, channels, terms.masks) for each in inside}
    differing = {at: names for at, names in found.items() if names}
    masked = False
    if terms.masks:
        bare = {each.at: broken(*each.sides, channels) for each in inside}
        masked = bare != found
    return ComparedSides(worlds, differing, masked)


def _held(compared: ComparedSides, terms: Terms) -> str | None:
    """Return the strongest relation that can be claimed: never all, if not everywhere.

    What differs in unusual worlds counts as far as what is required still holds there.
    """
    ordinary = compared.holds(compared.those(unusual=False))
    everywhere = compared.holds(compared.inside)
    if everywhere is not None and strength(everywhere) >= strength(terms.required):
        return everywhere
    if ordinary == RELATIONS[-1] and everywhere != ordinary:
        return UNSTEADY_FROM
    return ordinary


def _elsewhere(compared: ComparedSides, terms: Terms) -> UnusualDivergence | None:
    """Return what breaks the required relation in unusual worlds, if anything does."""
    channels = channels_of(terms.required)
    unusual = compared.those(unusual=True)
    return unusual_divergence(named_worlds(unusual, channels, terms.masks))


def _unused(
    compared: ComparedSides, sessions: Sequence[Sequence[TracedWorld]], terms: Terms
) -> Iterator[str]:
    """Yield the volatile fields that differ nowhere, between sides or sessions."""
    if not terms.volatile:
        return
    pairs = [each.sides for each in compared.inside]
    for first, *later in sessions:
        pairs += [(by_channel(first), by_channel(other)) for other in later]
    for mask in terms.volatile:
        found = (differences(*pair, (mask.channel,)) for pair in pairs)
        if not any(mask.covers(each) for some in found for each in some):
            yield f"{mask.channel} {mask.path}"


def _effort(sessions: SideSessions, *, explain: bool) -> ShrinkEffort:
    """Return how hard a smaller world is looked for.

    A program that is started for each session takes a second or so; but as long as its
    world gets smaller, the next one is worth that.
    """
    costly = sessions.corpus.costly
    most = TRIES_OF_GRAPHS if sessions.slow or costly else TRIES
    most = most if explain else min(most, TRIES_IN_A_FOLDER)
    return ShrinkEffort(most, IN_VAIN_OF_PROGRAMS if costly else most)


def _only_old_is_built(worlds: Sequence[BothPlayed]) -> bool:
    """Tell whether NEW ended before its first run in all worlds, and OLD did not."""

    def ended(side: TraceChannels) -> bool:
        return any(each.value["run"] == 0 for each in side.entries("errors"))

    fails = all(ended(each.new) for each in worlds)
    return fails and not all(ended(each.old) for each in worlds)


def _has_neighbours(world: Scenario) -> bool:
    lists = ("middlewares", "handlers", "tool_call_middlewares")
    return any(getattr(agent, name) for agent in world.all_agents for name in lists)
