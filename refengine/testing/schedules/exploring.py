"""Finds what goes wrong only when tasks come in another order.

    explored = explore(program, check=what_is_wrong)
    explored.verify()

``program`` is played under one schedule after the other: asyncio's own order, then all
schedules with one deviation from it, then with two, then seeded random ones. The first
that fails is shrunk until none of its deviations can be left out, told as a story, and
can be played again with ``replay``. The program and the seed decide everything, so the
same call plays the same schedules (``loop`` says what a schedule decides).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from random import Random
from typing import Final, TypeAlias, TypeVar

from refengine.testing.schedules.loop import (
    HELD,
    Choose,
    Schedule,
)
from refengine.testing.schedules.playing import (
    Check,
    PlayedSchedule,
    Program,
    Stage,
    UnrepeatableError,
    keeping,
)

# Searching schedules: all with one deviation more, and the smallest that still fails.
# What one play had to choose from says which schedules come after it.


@dataclass(frozen=True, slots=True)
class Branch:
    """A schedule that was played, and how many tasks each of its choice points had."""

    schedule: Schedule
    widths: Sequence[int]

    @property
    def after(self) -> int:
        """The first choice point after its last deviation."""
        deviations = self.schedule.deviations
        return deviations[-1][0] + 1 if deviations else 0


class Children(Sequence[tuple[Branch, Schedule]]):
    """All schedules with one deviation more than those played, made when asked for.

    Each schedule has one parent: the one without its last deviation.
    """

    def __init__(self, parents: Sequence[Branch]) -> None:
        self._parents = parents
        sizes = (sum(each.widths[each.after :]) for each in parents)
        self._ends = list(accumulate(sizes))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, at: int) -> tuple[Branch, Schedule]:  # type: ignore[override]  # no slices
        which = bisect_right(self._ends, at)
        parent = self._parents[which]
        rest = at - (self._ends[which - 1] if which else 0)
        point = parent.after
        while rest >= parent.widths[point]:
            rest -= parent.widths[point]
            point += 1
        deviation = (point, rest or HELD)
        return parent, Schedule((*parent.schedule.deviations, deviation))


def compare(parent: Branch, made: Branch) -> None:
    """Compare a play with its parent, or with itself, up to where they part.

    Raises UnrepeatableError.
    """
    if parent.schedule == made.schedule:
        until, same = len(parent.widths), made.widths == parent.widths
    else:
        until = made.after
        same = made.widths[:until] == parent.widths[:until]
    if not same:
        raise UnrepeatableError(until)


BUDGET: Final = 500
"""So many plays shrinking takes at most."""

Deviations: TypeAlias = Sequence[tuple[int, int]]


def shrunk(stage: Stage, failed: PlayedSchedule) -> PlayedSchedule:
    """Return a play that fails likewise with few deviations, and its story.

    Raises UnrepeatableError if playing it again does not fail.
    """
    best = _Shrinker(stage, failed).run()
    replayed = stage.play(keeping(best.schedule), telling=True)
    if replayed.kind is not failed.kind or replayed.schedule != best.schedule:
        raise UnrepeatableError(len(best.widths))
    return replayed


class _Shrinker:
    """Leaves out deviations: all but one, then halves, quarters, single ones."""

    def __init__(self, stage: Stage, failed: PlayedSchedule) -> None:
        self._stage = stage
        self._best = failed
        self._left = BUDGET

    @property
    def _deviations(self) -> Deviations:
        return self._best.schedule.deviations

    def run(self) -> PlayedSchedule:
        """Return the best play that was found."""
        self._try_alone()
        size = len(self._deviations)
        while size:
            if not self._leave_out(size) or size > 1:
                size //= 2
        return self._best

    def _try_alone(self) -> None:
        """To hold one task back does what many deviations did surprisingly often."""
        if len(self._deviations) < 2:
            return
        own = self._stage.play(keeping(Schedule()))
        points = range(len(own.widths))[: BUDGET // 2]
        alone = (((point, HELD),) for point in points)
        any(map(self._fails, chain(((),), alone)))

    def _leave_out(self, size: int) -> bool:
        """Leave out so many in a row wherever possible; tell whether any could be."""
        before = len(self._deviations)
        at = 0
        while at < len(self._deviations):
            rest = (*self._deviations[:at], *self._deviations[at + size :])
            if not self._fails(rest):
                at += size
        return len(self._deviations) < before

    def _fails(self, deviations: Deviations) -> bool:
        """Play these; if they fail likewise and are fewer, they are the best so far."""
        if not self._left:
            return False
        self._left -= 1
        played = self._stage.play(keeping(Schedule(tuple(deviations))))
        fewer = len(played.schedule.deviations) < len(self._deviations)
        if played.kind is not self._best.kind or not fewer:
            return False
        self._best = played
        return True


class InterleavingError(AssertionError):
    """A schedule was found under which a program fails."""

    def __init__(self, failure: ScheduleFailure) -> None:
        self.failure = failure
        super().__init__(str(failure))


@dataclass(frozen=True, slots=True)
class ScheduleFailure:
    """What went wrong, under which schedule, and how that came.

    ``after`` is the number of schedules that were played until it was found, ``first``
    the deviations of the one that found it, before it was shrunk to ``schedule``.
    ``story`` has a line for each deviation.
    """

    what: str
    schedule: Schedule
    story: tuple[str, ...]
    after: int
    first: Schedule
    error: BaseException | None = None

    def __str__(self) -> str:
        how = self.story or ("asyncio's own order",)
        lines = (f"  {at}. {line}" for at, line in enumerate(how, 1))
        head = f"{self.what}\nfound by schedule {self.after}, and shrunk to:"
        return "\n".join(
            (head, *lines, f"play it again: replay(program, {self.schedule})")
        )


@dataclass(frozen=True, slots=True)
class Explored:
    """What exploring came to.

    ``schedules`` were played; ``choice_points`` is the most that one of them had. All
    schedules with up to ``complete`` deviations were among them; None if not even
    asyncio's own order came to its end. ``failure`` is None if nothing was found.
    """

    schedules: int
    choice_points: int
    complete: int | None
    failure: ScheduleFailure | None = None

    def verify(self) -> None:
        """Raise InterleavingError if a failure was found."""
        if self.failure is not None:
            raise InterleavingError(self.failure) from self.failure.error


T = TypeVar("T")


RATES: Final = (0.5, 0.2, 0.05)
"""How often a seeded schedule deviates, one rate after the other."""


class ExploreArgumentError(ValueError):
    """``explore`` was told to search in a way that there is none."""

    def __init__(self, name: str, got: object, least: int) -> None:
        self.name = name
        super().__init__(
            f"explore got {name}={got!r}: give a number of at least {least}"
        )


class StaleScheduleError(Exception):
    """A schedule does not fit the program any more."""

    def __init__(self, schedule: Schedule, played: Schedule) -> None:
        self.schedule = schedule
        left = [each for each in schedule.deviations if each not in played.deviations]
        super().__init__(
            f"the deviations {left} of {schedule} could not be taken: the program has"
            " changed since it was found; explore again"
        )


def explore(
    program: Program[T],
    *,
    check: Check[T] | None = None,
    deviations: int = 2,
    limit: int = 1000,
    seeded: int = 100,
    seed: int = 0,
) -> Explored:
    """Play a program under many schedules, until one fails.

    A failure is an exception that comes out of the program, an error of a task that
    nobody waited for, a text that ``check`` returns for the program's result, or that
    nothing can go on (DeadlockError). Schedules with up to ``deviations`` deviations
    are played, at most ``limit``: where they are more, those with the most deviations
    are drawn by the seed. After them ``seeded`` random ones, unless there are no
    others. Raises ExploreArgumentError, ProgramError, CheckError, UnrepeatableError.
    """
    for name, given, least in (
        ("deviations", deviations, 0),
        ("limit", limit, 1),
        ("seeded", seeded, 0),
    ):
        if type(given) is not int or given < least:
            raise ExploreArgumentError(name, given, least)
    stage = Stage(program, check)
    try:
        return _Search(stage, seed).run(deviations, limit, seeded)
    finally:
        stage.close()


def replay(
    program: Program[T], schedule: Schedule, *, check: Check[T] | None = None
) -> T:
    """Play a program under one schedule and return its result.

    Raises what the program raises, InterleavingError with what the check found, and
    StaleScheduleError if nothing failed and a deviation could not be taken.
    """
    stage = Stage(program, check)
    try:
        played = stage.play(keeping(schedule), telling=True)
    finally:
        stage.close()
    if played.error is not None:
        raise played.error
    if played.found is not None:
        raise InterleavingError(_failure(played, 1, schedule))
    if played.schedule != schedule:
        raise StaleScheduleError(schedule, played.schedule)
    return played.value  # type: ignore[return-value]  # what the program returned


def _failure(played: PlayedSchedule, after: int, first: Schedule) -> ScheduleFailure:
    what = played.what or ""
    return ScheduleFailure(
        what, played.schedule, played.story, after, first, played.error
    )


class _Search:
    """One exploration: the levels of deviations, then the seeded schedules."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._seed = seed
        self._count = 0
        self._points = 0
        self._exhausted = False
        self._failure: ScheduleFailure | None = None

    def run(self, deviations: int, limit: int, seeded: int) -> Explored:
        complete = self._levels(deviations, limit)
        for number in range(0 if self._exhausted else seeded):
            if self._failure is None:
                self._play(self._random_choices(number))
        return Explored(self._count, self._points, complete, self._failure)

    def _levels(self, deviations: int, limit: int) -> int | None:
        """Play level by level; return which was the last that was played whole."""
        first = self._play(keeping(Schedule()))
        if self._failure is None:
            again = self._stage.play(keeping(Schedule()))
            compare(first, Branch(again.schedule, again.widths))
        level = [first]
        for done in range(deviations + 1):
            if self._failure is not None:
                return done - 1 if done else None
            if done == deviations:
                break
            children = Children(level)
            self._exhausted = not children
            left = limit - self._count
            level = self._play_level(children, left)
            if len(children) > left and self._failure is None:
                return done
        return deviations

    def _play_level(self, children: Children, left: int) -> list[Branch]:
        """Play the children of a level, or as many of them as are left to play."""
        drawn: Sequence[int] = range(len(children))
        if len(children) > left:
            random = Random(f"{self._seed}:level")  # noqa: S311  # no secret
            drawn = sorted(random.sample(drawn, left))
        played: list[Branch] = []
        for at in drawn:
            if self._failure is not None:
                break
            parent, schedule = children[at]
            made = self._play(keeping(schedule))
            compare(parent, made)
            played.append(made)
        return played

    def _play(self, choose: Choose) -> Branch:
        played = self._stage.play(choose)
        self._count += 1
        self._points = max(self._points, len(played.widths))
        if played.what is not None:
            smallest = shrunk(self._stage, played)
            self._failure = _failure(smallest, self._count, played.schedule)
        return Branch(played.schedule, played.widths)

    def _random_choices(self, number: int) -> Choose:
        random = Random(f"{self._seed}:{number}")  # noqa: S311  # no secret
        rate = RATES[number % len(RATES)]
        return lambda _, width: (
            random.randrange(width) or HELD if random.random() < rate else 0
        )
