"""Verdict types: what a judgement of a migration says, without how it was reached.

Source: verdicts, Migration. A report reads these and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from compat.verdicts.relations import RELATIONS
from compat.verdicts.sharpness import Sharpness
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.named_values import MovedValue

if TYPE_CHECKING:
    from refengine.messages import Json
else:
    # pydantic reads these types where a verdict comes from another process, and cannot
    # follow one that is made of itself.
    Json = Any

Side: TypeAlias = Literal["old", "new"]
SIDES: Final[tuple[Side, Side]] = ("old", "new")

Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place in a channel where the sides differ, with both values there.

    ``path`` is a place among its entries, such as ``[2].messages[0].content``.
    ``seq`` says when the entry was observed, on the side that has it. ``role`` is that
    of the message in which they differ, "" outside of one and where that differs, too.
    """

    channel: str
    path: str
    old: Json
    new: Json
    seq: int = 0
    role: str = ""

    @property
    def anywhere(self) -> str:
        """The path as a mask has it: ``[*]`` for the number of each entry."""
        return re.sub(r"\[\d+\]", "[*]", self.path)


@dataclass(frozen=True, slots=True)
class DescribedDivergence:
    """The first place where two traces differ, told in words.

    ``code`` is stable, for machines; ``summary`` is one sentence for a person.
    ``lines`` are what both sides show around it, marked ``-`` if only the old one does
    and ``+`` if only the new one. ``causes`` are errors that only one side had before
    it, or why a way is lost, in the words of what raised them. ``innermost`` is all
    that has to be allowed if it is meant, and ``difference`` what a person sees of it.
    ``called`` are the calls that OLD's model made, by id: what a tool is named and is
    given, where a world has only the place of one of the subject's own.
    """

    code: str
    severity: Severity
    summary: str
    difference: Difference
    where: str
    lines: Sequence[tuple[str, str]] = ()
    causes: Sequence[tuple[Side, str]] = ()
    places: Sequence[tuple[Side, str]] = ()
    innermost: Difference | None = None
    called: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )


@dataclass(frozen=True, slots=True)
class DivergenceGroup:
    """Divergences with one code in one channel, and how many worlds show one first."""

    code: str
    channel: str
    worlds: int


@dataclass(frozen=True, slots=True)
class UnusualDivergence:
    """What diverges in worlds that no application meets, and why these are unusual.

    ``reasons`` are those of the worlds that diverge, with their counts; ``divergence``
    is one of their largest group, seen in ``world``.
    """

    diverging: int
    reasons: Mapping[str, int]
    divergence: DescribedDivergence
    world: Scenario


@dataclass(frozen=True, slots=True)
class HiddenDivergence:
    """What diverges behind the divergence that is shown, and is none of its groups.

    It shows in ``diverging`` worlds once that change of a text is taken for right
    wherever it stands; ``divergence`` is one of its largest group, seen in ``world``.
    """

    diverging: int
    divergence: DescribedDivergence
    world: Scenario


@dataclass(frozen=True, slots=True)
class Noise:
    """A field in which one side differs from itself in the same world."""

    side: Side
    channel: str
    path: str
    values: tuple[Json, Json]


@dataclass(frozen=True, slots=True)
class Broken:
    """An intended effect that a side does not have, and the world that shows it."""

    side: Side
    text: str
    world: Scenario


@dataclass(frozen=True, slots=True)
class Allowed:
    """A declared intended difference, and whether its own world needs it."""

    channel: str
    path: str
    reason: str
    used: bool


@dataclass(frozen=True, slots=True)
class ExercisedSetup:
    """What a side's setup did: attributes that it changed, spans that it has seen.

    ``brought`` are the versions of the packages that it imports, by name.
    """

    name: str
    changed: int
    spans: int
    brought: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def idle(self) -> bool:
        """Whether it changed and saw nothing, so that the side is the plain one."""
        return not self.changed and not self.spans


@dataclass(frozen=True, slots=True)
class Exercise:
    """What the worlds made one side do: hooks by times entered, branches not taken.

    ``marked`` are branches not taken that the settings declare out of reach, and why.
    ``frameworks`` are versions of what built its graphs, ``ways`` how they can be run.
    """

    subject: str
    hooks: Mapping[str, int]
    arms: int = 0
    uncovered: Sequence[str] = ()
    printed: Sequence[str] = ()
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])
    ways: Sequence[str] = ()
    setup: ExercisedSetup | None = None
    marked: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def idle(self) -> tuple[str, ...]:
        """The hooks that no world entered, and a setup that did nothing."""
        hooks = (hook for hook, times in self.hooks.items() if not times)
        idle = self.setup is not None and self.setup.idle
        return (*hooks, *((self.setup.name,) if idle and self.setup else ()))


@dataclass(frozen=True, slots=True)
class FailedSide:
    """Why a side could not be judged at all."""

    side: Side
    kind: str
    text: str
    usage: bool


@dataclass(frozen=True, slots=True)
class GivenWorlds:
    """A file of the user's own, and in how many worlds it is.

    So many are its sessions as they are (``played``), so many were ``made`` from it,
    and so many of both were ``left_out``, since OLD cannot be run in them.
    ``not_read`` counts exchanges of other APIs, by name. Where the file is a sample,
    it is one of ``of`` sessions, of which at most the share ``bound`` diverges at 95 %
    if none of the sample does.
    """

    file: str
    played: int
    made: int
    not_read: Mapping[str, int] = field(default_factory=dict[str, int])
    of: int = 0
    bound: float = 0.0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class OverTheWire:
    """The clients' versions by distribution, and how many worlds were left out why.

    ``cases`` of a folder were left out because they lose a way to be run.
    """

    versions: Mapping[str, str]
    left_out: Mapping[str, int]
    cases: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search did: so many plays, after which so many worlds joined."""

    plays: int
    joined: int


@dataclass(frozen=True, slots=True)
class PointVerdict:
    """A point in which the engines of both sides differ, and whether it was played.

    ``about`` is the posture or the row of the guide; ``reason`` is why it does not
    concern the sides, or why no world of it was played. So many ``worlds`` were, and in
    so many the sides were ``diverging``.
    """

    id: str
    says: str
    about: str
    state: Literal["played", "absent", "unplayed"]
    reason: str = ""
    worlds: int = 0
    diverging: int = 0


@dataclass(frozen=True, slots=True)
class DocumentedChange:
    """A change of a package that a divergence may come from, and where it is told."""

    package: str
    since: str
    says: str
    link: str

    def __str__(self) -> str:
        return f"{self.says} ({self.package} {self.since}, {self.link})"


@dataclass(frozen=True, slots=True)
class PointsVerdict:
    """The points in which two engines differ whatever a subject does."""

    old: str
    new: str
    guide: str
    each: Sequence[PointVerdict]


@dataclass(frozen=True, slots=True)
class HandOverVerdict:
    """Runs that OLD kept and NEW resumed: so many were ``played`` at each point.

    In so many of them the sides were ``diverging``. ``stores`` are what kept them, and
    ``absent`` says why none was played, "" where some were. Values ``changed`` their
    type on the way from OLD to OLD: by path, what they were and what they come back as.
    """

    played: Mapping[str, int] = field(default_factory=dict[str, int])
    diverging: int = 0
    stores: Sequence[str] = ()
    absent: str = ""
    changed: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )


@dataclass(frozen=True, slots=True)
class RecordedBasis:
    """What a verdict rests on where OLD is a recording.

    So many ``sessions``, of which that was compared which is ``shown``; what is
    ``unshown`` NEW may do otherwise, and nobody would know. In so many sessions NEW
    ``reworded`` an answer of its model, of which it is not known whether OLD did.
    """

    sessions: int
    shown: Sequence[str]
    unshown: Sequence[str]
    reworded: int = 0


@dataclass(frozen=True, slots=True)
class Migration:
    """The answer to "does NEW still do what OLD did?".

    ``holds`` is the strongest relation that holds over the ordinary worlds, None if not
    even the weakest does. ``world`` is the smallest one found that shows the divergence
    of the largest of the ``groups``. ``outside`` are worlds in which OLD itself cannot
    work, by the reason, and ``unsteady`` counts those in which a side differs from
    itself, though others show a divergence. ``ordinary`` and ``apart`` count the worlds
    that could be compared, None if none was. ``unused`` are volatile fields that differ
    nowhere. One that was ``interrupted`` would have gone on looking, for more or a
    smaller world. ``versions`` are those of packages, and Python's, that the sides have
    otherwise: "" is that of one that a side does not have.
    NEW is ``unbuilt`` where only OLD can be built, and that in every world.
    ``points`` are those in which the engines differ, None where none is known, and
    ``point`` is that which the divergence was seen at. ``failures`` are what broke by
    itself in a side's own code, with how many sessions. Values that ``moved`` NEW looks
    for by another door than OLD. ``sharpness`` is NEW's, and ``sharpness_old`` that of
    OLD, None where no small change was to be played; where it is ``strict``, what holds
    weakly is not enough. ``hand_over`` is about runs that OLD kept, None where none was
    to be handed over. ``recorded`` says what of OLD is known where it is a recording,
    None where it ran. ``documented`` are changes of packages between the sides'
    versions that the divergence may come from. ``own_tools`` are those that the sides
    make themselves, as far as their sources name them, and ``left_out`` counts the
    worlds in which OLD cannot work by their family.
    """

    required: str
    worlds: int
    digest: str
    holds: str | None = None
    divergence: DescribedDivergence | None = None
    world: Scenario | None = None
    diverging: int = 0
    exercise: Mapping[Side, Exercise] = field(default_factory=dict[Side, Exercise])
    noise: Sequence[Noise] = ()
    unsteady: int = 0
    broken: Sequence[Broken] = ()
    allowed: Sequence[Allowed] = ()
    unused: Sequence[str] = ()
    fault: FailedSide | None = None
    families: Mapping[str, int] = field(default_factory=dict[str, int])
    given: Sequence[GivenWorlds] = ()
    sharpness: Sharpness | None = None
    sharpness_old: Sharpness | None = None
    strict: bool = False
    groups: Sequence[DivergenceGroup] = ()
    hidden: HiddenDivergence | None = None
    outside: Mapping[str, int] = field(default_factory=dict[str, int])
    ordinary: int | None = None
    apart: int = 0
    unusual: UnusualDivergence | None = None
    searched: Searched | None = None
    interrupted: bool = False
    versions: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    unbuilt: bool = False
    moved: Sequence[MovedValue] = ()
    own_tools: AbstractSet[str] = frozenset()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    points: PointsVerdict | None = None
    point: PointVerdict | None = None
    failures: Mapping[Side, Mapping[str, int]] = field(
        default_factory=dict[Side, Mapping[str, int]]
    )
    recorded: RecordedBasis | None = None
    hand_over: HandOverVerdict | None = None
    documented: Sequence[DocumentedChange] = ()

    @property
    def nothing_ran(self) -> bool:
        """Whether there is no ordinary world in which OLD works."""
        return self.ordinary == 0

    @property
    def crashed(self) -> bool:
        """Whether what could be seen of OLD is mostly that its own code breaks.

        Not where something else was seen to differ.
        """
        broken = sum(self.failures.get("old", {}).values())
        return 2 * broken > self.worlds and (self.nothing_ran or self.sufficient)

    @property
    def unplayed(self) -> Sequence[PointVerdict]:
        """The points that concern the sides and that no world was played for."""
        points = () if self.points is None else self.points.each
        return tuple(each for each in points if each.state == "unplayed")

    @property
    def narrow(self) -> bool:
        """Whether OLD works in fewer than four of five worlds."""
        return sum(self.outside.values()) * 5 > self.worlds

    @property
    def sufficient(self) -> bool:
        """Whether what holds is at least what is required."""
        holds, required = self.holds, self.required
        return holds is not None and RELATIONS.index(holds) >= RELATIONS.index(required)

    @property
    def stale(self) -> bool:
        """Whether an entry of the settings is not needed by anything."""
        marks = any(each.stale for _, each in self.sharp_sides)
        unused = any(not each.used for each in self.allowed)
        return bool(self.unused) or marks or unused

    @property
    def sharp_sides(self) -> Sequence[tuple[Side, Sharpness]]:
        """The sides whose small changes were played, each with how sharp that is."""
        both = zip(SIDES, (self.sharpness_old, self.sharpness), strict=True)
        return [(side, each) for side, each in both if each is not None]

    @property
    def sharp(self) -> bool:
        """Whether as many small changes of each side were noticed as have to be.

        Where neither has any to make, that is not known.
        """
        found = [each for _, each in self.sharp_sides]
        some = any(not each.empty or not each.least for each in found)
        return all(each.enough for each in found) and (some or not found)

    @property
    def of_graphs(self) -> bool:
        """Whether it is graphs of another framework that were judged."""
        return any(each.ways for each in self.exercise.values())

    @property
    def frameworks(self) -> Mapping[str, str]:
        """The versions of what built the graphs of both sides, by name."""
        found: dict[str, str] = {}
        for each in self.exercise.values():
            found.update(each.frameworks)
        return found

    @property
    def idle(self) -> tuple[tuple[Side, str], ...]:
        """The hooks of either side that no world entered, if there is an agent."""
        return tuple(
            (side, hook)
            for side, each in self.exercise.items()
            if side == "old" or not self.unbuilt
            for hook in each.idle
        )


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """One case of a folder: what it is expected to be, what it is, in one word each.

    ``file`` is that of its new side, from where a code host looks; "" if it has none.
    """

    piece: str
    case: str
    expected: str
    got: str
    met: bool
    verdict: Migration
    file: str = ""
