"""Both sides in one world: whether they differ, how it is named, and what is noise.

``SideRunner`` is what is needed of a side for that: to play worlds, and to report what
they made it do. Worlds that diverge for one reason show one code in one channel, so a
report counts these, and shows the largest group by what most of its worlds show, in the
smallest world that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Protocol, TypeAlias

from compat.migration.described import (
    AGAINST_NO,
    DivergenceKind,
    against_no,
    first_in_time,
    kind_of,
    named,
    started_by,
)
from compat.migration.differences import (
    Mask,
    SameEdit,
    TraceChannels,
    broken,
    differences,
)
from compat.migration.handed_codes import in_hand_over
from compat.migration.shrink import TRIES, WORDS, size
from compat.verdicts.migration import (
    DescribedDivergence,
    Difference,
    DivergenceGroup,
    Exercise,
    FailedSide,
    HiddenDivergence,
    Noise,
    Side,
    UnusualDivergence,
)
from refengine.testing.channels import CHANNELS
from refengine.testing.json_values import is_mapping
from refengine.testing.scenario import Scenario
from refengine.testing.trace import MISSING

Progress: TypeAlias = Callable[[str, int, int], None]
"""Hears of a phase, how many worlds it has come through, and how many at most."""


def silent(phase: str, worlds: int, most: int) -> None:
    """Tell nobody."""


class PlayError(Exception):
    """A side could not be played."""

    def __init__(self, fault: FailedSide) -> None:
        self.fault = fault
        super().__init__(fault.text)


class TracedWorld(Protocol):
    """One world, played."""

    @property
    def jsonl(self) -> str:
        """Its trace as canonical text, which is equal for most pairs."""
        ...

    @property
    def refused(self) -> str | None:
        """Why it is outside the subject's domain, if it is."""
        ...

    @property
    def way(self) -> str | None:
        """How a graph was run, None if it is not a graph."""
        ...


class SideRunner(Protocol):
    """One side; what it does may raise PlayError."""

    def play(self, world: Scenario) -> TracedWorld:
        """Play one world."""
        ...

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[TracedWorld]:
        """Play many worlds, in this order."""
        ...

    def broken(self, played: TracedWorld) -> Sequence[str]:
        """Return the intended effects of this subject that a world lacks."""
        ...

    @property
    def ways(self) -> Sequence[str]:
        """The ways in which its graph can be run; none if it is not a graph."""
        ...

    def run_in(self, ways: Sequence[str]) -> None:
        """Run its graph in no other ways than these; in any if there are none."""
        ...

    @property
    def intends(self) -> Sequence[str]:
        """What the subject says it intends."""
        ...

    @property
    def keeps(self) -> str | None:
        """What keeps its runs, if anything does that goes on with them."""
        ...

    @property
    def exercise(self) -> Exercise:
        """What all worlds so far made the subject do."""
        ...


class PlainSide:
    """What a side says that is not a graph and has no way to say what it intends."""

    ways: Sequence[str] = ()
    intends: Sequence[str] = ()
    keeps: str | None = None

    def run_in(self, ways: Sequence[str]) -> None:
        """Do nothing: it runs in one way."""

    def broken(self, played: TracedWorld) -> Sequence[str]:  # noqa: ARG002  # as all sides
        """Return nothing: no effect is intended."""
        return ()


Anew: TypeAlias = Callable[[SideRunner], AbstractContextManager[SideRunner]]
"""Opens a side once more, in a process of its own."""
Pair: TypeAlias = "tuple[TracedWorld, TracedWorld]"
Beside: TypeAlias = Callable[
    [SideRunner, SideRunner, Sequence[Scenario]], Iterator[Pair]
]
"""Plays the same worlds on two sides, at the same time where that can be."""


def by_turns(
    old: SideRunner, new: SideRunner, worlds: Sequence[Scenario]
) -> Iterator[Pair]:
    """Play the same worlds on two sides, one after the other."""
    yield from zip(old.play_all(worlds), new.play_all(worlds), strict=True)


def by_channel(played: TracedWorld) -> TraceChannels:
    """Return what was played by channel."""
    return TraceChannels(played.jsonl)


Explained: TypeAlias = "tuple[tuple[Noise, ...], DescribedDivergence | None]"
"""In which fields a side differs from itself, or else the divergence."""
SESSIONS: Final = 2
"""So often a side plays a world in one process, to tell noise from differences."""


def everything(_: Scenario) -> bool:
    """Tell that any world will do."""
    return True


@dataclass(frozen=True, slots=True)
class SeenPair:
    """One world as both sides were seen in it, and what is looked at there."""

    old: TraceChannels
    new: TraceChannels
    channels: Sequence[str]
    masks: Sequence[Mask] = ()

    @property
    def divergence(self) -> DescribedDivergence | None:
        """The first difference in time, named; None if there is none."""
        told = self._first()
        return told and replace(told, called=self.old.called)

    def _first(self) -> DescribedDivergence | None:
        found = differences(self.old, self.new, self.channels, self.masks)
        if not found:
            return None
        if any(each.channel == "tool_executions" for each in found):
            denied = against_no(self.old, self.new)
            if denied is not None:
                return in_hand_over(denied, self.old, self.new)
        first = started_by(first_in_time(found), found, self.old, self.new)
        told = named(first, self.old, self.new)
        told = self._worse(found) or told if told.code in MILD else told
        told = self._call_of(told, found) or told
        return in_hand_over(told, self.old, self.new)

    def _call_of(
        self, told: DescribedDivergence, found: Sequence[Difference]
    ) -> DescribedDivergence | None:
        """Return the call that only one side makes, if it is that of an effect."""
        calls = (each for each in found if each.channel == "tool_executions")
        first = next(calls, None) if told.difference.channel == "effects" else None
        if first is None:
            return None
        made = named(first, self.old, self.new)
        effect, call = (each.where.split(", ") for each in (told, made))
        is_same = (effect[0], effect[-1]) == (call[0], call[-1])
        return made if is_same and made.code in ONE_SIDED else None

    def _worse(self, found: Sequence[Difference]) -> DescribedDivergence | None:
        """Return one of the worst that this world shows, too."""
        for code, channel in WORST:
            each = next((each for each in found if each.channel == channel), None)
            told = None if each is None else named(each, self.old, self.new)
            if told is not None and told.code == code:
                return told
        return None


@dataclass(slots=True)
class SidePair:
    """Two sides that are played in one world, and each of them once more elsewhere.

    ``again`` are the same sides in processes of their own.
    """

    sides: tuple[SideRunner, SideRunner]
    again: tuple[SideRunner, SideRunner]
    masks: Sequence[Mask]
    channels: Sequence[str]
    beside: Beside = by_turns
    progress: Progress = silent
    fits: Callable[[Scenario], bool] = everything
    steady: Sequence[str] = tuple(CHANNELS)
    tried: int = 0

    def seen(self, world: Scenario) -> SeenPair | None:
        """Return what both sides do in a world; None if it shows nothing of them."""
        if not self.fits(world):
            return None
        try:
            ((old, new),) = self.beside(*self.sides, [world])
        except PlayError:
            return None
        if old.refused is not None:
            return None
        return SeenPair(by_channel(old), by_channel(new), self.channels, self.masks)

    def shows(self, world: Scenario, kinds: Sequence[DivergenceKind]) -> bool:
        """Tell whether the first difference in a world is of one of these kinds.

        They are of one channel.
        """
        self.tried += 1
        self.progress("shrinking", self.tried, TRIES)
        seen = self.seen(world)
        # Which channels differ at all is known at once, what comes first is not.
        if seen is None or not broken(
            seen.old, seen.new, [kinds[0].channel], self.masks
        ):
            return False
        found = seen.divergence
        return found is not None and kind_of(found) in kinds

    def explained(self, world: Scenario, volatile: Sequence[Mask]) -> Explained:
        """Return the fields in which a side differs from itself in this world, if any.

        Else the first difference in time between the sides, named.
        """
        sessions: list[Pair] = []
        for _ in range(SESSIONS):
            sessions += self.beside(*self.sides, [world])
        sessions += self.beside(*self.again, [world])
        old, new = zip(*sessions, strict=True)
        noise = [*noise_between("old", old, volatile, self.steady)]
        noise += noise_between("new", new, volatile, self.steady)
        sides = by_channel(old[0]), by_channel(new[0])
        found = SeenPair(*sides, self.channels, self.masks).divergence
        if not noise and found is None:  # they differed when the world was looked for
            noise = [Noise("new", self.channels[0], "[*]", ("differs", "does not"))]
        return (unique(noise), None) if noise else ((), found)

    def worded(
        self, world: Scenario, found: DescribedDivergence, volatile: Sequence[Mask]
    ) -> tuple[Scenario, DescribedDivergence]:
        """Return a world with an instruction, where nothing is read in what differs.

        A message that is empty but for white space tells a reader nothing. Both are as
        they were, if the instruction is no part of what differs.
        """
        agent = world.agent
        if agent is None or not _is_blank(found.difference):
            return world, found
        instructed = {"instruction": WORDS.by_field["instruction"]}
        agent = agent.model_copy(update=instructed)
        legible = world.model_copy(update={"agent": agent})
        _, told = self.explained(legible, volatile)
        if told is None or told.code != found.code or _is_blank(told.difference):
            return world, found
        return legible, told


def _is_blank(found: Difference) -> bool:
    """Tell whether nothing is read in a message that one side has alone."""
    told = found.new if found.old == MISSING else found.old
    return is_mapping(told) and not str(told.get("content", MISSING)).strip()


def noise_between(
    side: Side,
    played: Iterable[TracedWorld],
    volatile: Sequence[Mask],
    channels: Sequence[str] = tuple(CHANNELS),
) -> Iterator[Noise]:
    """Yield each field in which sessions of one side in one world differ."""
    for first, other in pairwise(map(by_channel, played)):
        for each in differences(first, other, channels, volatile):
            path = each.anywhere
            yield Noise(side, each.channel, path, (each.old, each.new))


def unique(found: Iterable[Noise]) -> tuple[Noise, ...]:
    """Return the first of each field."""
    first = {(each.side, each.channel, each.path): each for each in [*found][::-1]}
    return tuple(first.values())[::-1]


# Groups of divergences


@dataclass(frozen=True, slots=True)
class BothPlayed:
    """A world that both sides were played in, by channel."""

    at: int
    scenario: Scenario
    unusual: str | None
    old: TraceChannels
    new: TraceChannels
    refused: str | None

    @property
    def sides(self) -> tuple[TraceChannels, TraceChannels]:
        """What the old one did, and the new one."""
        return self.old, self.new


@dataclass(frozen=True, slots=True)
class NamedWorld:
    """A world that diverges, and what is seen there first."""

    world: BothPlayed
    found: DescribedDivergence
    kind: DivergenceKind


def named_worlds(
    worlds: Sequence[BothPlayed], channels: Sequence[str], masks: Sequence[Mask]
) -> list[NamedWorld]:
    """Return the worlds that diverge in these channels, named."""
    named: list[NamedWorld] = []
    for world in worlds:
        found = SeenPair(*world.sides, channels, masks).divergence
        if found is not None:
            named.append(NamedWorld(world, found, kind_of(found)))
    return named


Worst: TypeAlias = Sequence[tuple[str, str]]
"""Codes with their channels, the worst first."""
WORST: Final = (
    (AGAINST_NO, "tool_executions"),
    ("HAND_OVER_TWICE", "tool_executions"),
    ("EXTRA_CALL", "tool_executions"),
    ("HAND_OVER_LOST", "tool_executions"),
    ("ASKED", "events"),
    ("ASKED", "effects"),
    ("STREAM_LEAK", "events"),
)
"""What a person has to hear of first, in however few worlds: a tool that runs though a
person said no, or once more than it should, a person who is not asked, a text that is
shown though it was taken back."""
ONE_SIDED: Final = frozenset(("EXTRA_CALL", "MISSING_CALL"))
"""Calls that only one side makes: told before an effect that is done in the call."""
MILD: Final = frozenset(("ORDER", "TOOLS_ORDER", "EVENT_ORDER"))
"""Codes that are never told of a world which shows one of the worst."""


def groups_of(
    named: Sequence[NamedWorld], worst: Worst = WORST
) -> tuple[DivergenceGroup, ...]:
    """Return the groups by code and channel: the worst first, then the largest."""
    counts = Counter((each.kind.code, each.kind.channel) for each in named)
    groups = [DivergenceGroup(*key, many) for key, many in counts.most_common()]
    return tuple(sorted(groups, key=lambda group: rank(group, worst)))


def rank(group: DivergenceGroup, worst: Worst = WORST) -> int:
    """Return how far from the worst a group is."""
    key = (group.code, group.channel)
    return worst.index(key) if key in worst else len(worst)


def typical(
    named: Sequence[NamedWorld],
    fits: Callable[[Scenario], bool],
    worst: Worst = WORST,
) -> NamedWorld:
    """Return the smallest world of those that show what most of the largest group do.

    Worlds that cannot be made smaller, such as those no graph fits, come last.
    """
    first = groups_of(named, worst)[0]
    key = (first.code, first.channel)
    group = [each for each in named if (each.kind.code, each.kind.channel) == key]
    ((kind, _),) = Counter(each.kind for each in group).most_common(1)
    usual = [each for each in group if each.kind == kind]
    return min(usual, key=lambda each: _order(each.world.scenario, fits))


def _order(
    world: Scenario, fits: Callable[[Scenario], bool]
) -> tuple[bool, tuple[int, int]]:
    return not fits(world), size(world)


def unusual_divergence(named: Sequence[NamedWorld]) -> UnusualDivergence | None:
    """Return what these unusual worlds show; None if they are none."""
    if not named:
        return None
    shown = typical(named, lambda _: True)
    return UnusualDivergence(
        len(named), _reasons(named), shown.found, shown.world.scenario
    )


def hidden_divergence(
    worlds: Sequence[BothPlayed],
    channels: Sequence[str],
    masks: Sequence[Mask],
    shown: DescribedDivergence,
    groups: Sequence[DivergenceGroup],
) -> HiddenDivergence | None:
    """Return what these worlds show behind a change of a text; None if nothing new.

    What a world shows first is all that it is counted for, so a change that is in every
    request, and may be meant, would hide all that comes after it.
    """
    edit = SameEdit.of(shown.difference)
    if edit is None:
        return None
    told = {(each.code, each.channel) for each in groups}
    found = named_worlds(worlds, channels, (*masks, edit))
    rest = [e for e in found if (e.kind.code, e.kind.channel) not in told]
    if not rest:
        return None
    each = typical(rest, everything)
    return HiddenDivergence(len(rest), each.found, each.world.scenario)


def _reasons(named: Sequence[NamedWorld]) -> Mapping[str, int]:
    counts = Counter(each.world.unusual or "" for each in named)
    return dict(counts.most_common())
