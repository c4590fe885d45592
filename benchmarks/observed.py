"""What a setup costs: runs of frameworks, plain and observed, in turns.

A setup changes the process that it runs in, so each of both has a process of its own.
They are asked one after the other, over and over, and what one set of samples tells is
the ratio of two that were taken one behind the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from benchmarks.growing import fits_of, line, simplest
from benchmarks.measurer import ChildLostError, Measurer
from benchmarks.peers.peer import PeerPlan
from benchmarks.rows import NotMeasuredError, band
from benchmarks.statistics import change, interval, ratio
from compat.engines.importing import GENERIC
from compat.environments.workers import OURS, WorkerPython
from compat.report.conform_text import counted
from compat.verdicts.cost import (
    Absent,
    Blocked,
    Compared,
    Cost,
    CostNoise,
    Estimate,
    Growth,
    GrowthPoint,
    Unit,
)

HANDLERS: Final = (0, 1, 10, 30, 100)
CHUNKS: Final = (1, 10, 100, 1_000)
QUICK: Final = {"handlers": (0, 1, 10, 30), "chunks": (1, 10, 50, 200)}
FULL: Final = {"handlers": HANDLERS, "chunks": CHUNKS}
LIMIT: Final = 180.0
"""Seconds for one request: all points of a set."""
MAIN: Final = "benchmarks.peers.child"
BOTH: Final = 2

Sets: TypeAlias = Sequence[Mapping[int, tuple[float, float]]]
"""Of each set, by number of handlers or chunks, the seconds of a run, plain and
observed."""
Report: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ObservedPlan:
    """What is measured: a setup, on these frameworks, with this Python."""

    setup: Path
    peers: Sequence[str]
    quick: bool
    python: WorkerPython = OURS

    def effort(self, unit: Unit) -> PeerPlan:
        """Return what a child is asked for, for one set of samples."""
        points = (QUICK if self.quick else FULL)[unit]
        return PeerPlan(
            points=points,
            further=(),
            needed=0,
            series=4 if self.quick else 8,
            rounds=3,
            sample=0.03 if self.quick else 0.1,
            budget=0.0,
            memory=(0, 0),
            limit=LIMIT,
            deepest=0,
            bisect=False,
            probe=0.0,
        )


@dataclass(slots=True)
class ObservedCosts:
    """All that was found: ratios, how they grow, and which frameworks have none."""

    noise: CostNoise | None = None
    """Of two plain processes; none where no framework could be measured."""
    costs: list[Cost] = field(default_factory=list[Cost])
    growth: list[Growth] = field(default_factory=list[Growth])
    absent: list[Absent] = field(default_factory=list[Absent])
    told: list[str] = field(default_factory=list[str])
    """On which frameworks the setup began no span: it may not be on."""


def measured(asked: ObservedPlan, report: Report) -> ObservedCosts:
    """Measure each framework that is installed; raises NotMeasuredError."""
    found = ObservedCosts()
    for peer in asked.peers:
        try:
            with ExitStack() as stack:
                _Pair(asked, peer, stack, report).measure(found)
        except ChildLostError as error:
            found.absent.append(Absent(peer=peer, why=str(error)))
    return found


class _Pair:
    """Two processes with one framework, one of which is observed."""

    def __init__(
        self, asked: ObservedPlan, peer: str, stack: ExitStack, report: Report
    ) -> None:
        self._asked, self._peer, self._report = asked, peer, report
        self._plain, self._observed, self._again = (
            stack.enter_context(self._child()) for _ in range(BOTH + 1)
        )

    def _child(self) -> Measurer:
        python = self._asked.python
        env = dict(python.env or os.environ)
        command = python.command(MAIN, *GENERIC)
        return Measurer(LIMIT, command, env, {"peer": self._peer})

    def measure(self, found: ObservedCosts) -> None:
        """Add what is found; raises NotMeasuredError and ChildLostError."""
        self._report(f"{self._peer}: starting it twice")
        listed = self._plain.ask({"do": "list"})
        if "absent" in listed:
            found.absent.append(Absent(peer=self._peer, why=listed["absent"]))
            return
        setup = self._asked.setup
        given = {"name": setup.name, "file": str(setup.resolve())}
        reply = self._observed.begin({"do": "setup", **given})
        if "wrong" in reply:
            raise NotMeasuredError(reply["wrong"])
        if found.noise is None:
            found.noise = self._noise()
        rows = _chosen(listed["variants"])
        name = f"{self._peer} {listed['version']}"
        taken = [self._row(found, name, at, each) for at, each in rows]
        if not self._observed.ask({"do": "seen"})["spans"]:
            changed = reply["changed"]
            patches = counted(changed, "patch") if changed else "no patch"
            why = f"{setup.name}: no span, {patches}: is it on?"
            found.told.append(f"{self._peer}: {why}")
            if not changed:
                return
        for costs, growth in taken:
            found.costs += costs
            found.growth.append(growth)

    def _row(
        self, found: ObservedCosts, name: str, at: int, variant: Mapping[str, str]
    ) -> tuple[Sequence[Cost], Growth]:
        unit: Unit = "handlers" if variant["ours"] else "chunks"
        title = f"{name}: {variant['hook']}, {unit}"
        self._report(title)
        sides = self._plain, self._observed
        sets = self._sets(sides, at, self._asked.effort(unit))
        if isinstance(sets, Blocked):
            return (), _growth(title, unit, sets)
        noise = found.noise.band if found.noise else 0.0
        return _costs(title, unit, sets, noise), _grown(title, unit, sets, noise)

    def _noise(self) -> CostNoise:
        """Compare two plain processes."""
        effort = replace(self._asked.effort("handlers"), points=(0,))
        sets = self._sets((self._plain, self._again), 0, effort)
        if isinstance(sets, Blocked):
            raise NotMeasuredError(f"{self._peer} runs on no terms: {sets.why}")
        same = _ratio(sets, 0)
        return CostNoise(ratio=same, band=band(same))

    def _sets(
        self, sides: Sequence[Measurer], at: int, plan: PeerPlan
    ) -> Sets | Blocked:
        """Ask both by turns, each time the other one first."""
        request = {"do": "time", "at": at, "plan": plan.to_json()}
        sets: list[Mapping[int, tuple[float, float]]] = []
        for turn in range(plan.series):
            replies: dict[int, Any] = {}
            for side in (0, 1) if turn % BOTH else (1, 0):
                reply = sides[side].ask(request)
                if "blocked" in reply:
                    where = f", with {self._asked.setup.name}" if side else ", plain"
                    blocked = Blocked(**reply["blocked"])
                    return blocked.model_copy(update={"why": blocked.why + where})
                replies[side] = reply["points"]
            sets.append(dict(_both(replies[0], replies[1])))
        return sets


def _chosen(
    variants: Sequence[Mapping[str, str]],
) -> Sequence[tuple[int, Mapping[str, str]]]:
    """Return the first hook, and each stream, with its place in the list."""
    hooks = [each for each in enumerate(variants) if each[1]["ours"]]
    streams = [each for each in enumerate(variants) if not each[1]["ours"]]
    return [*hooks[:1], *streams]


def _both(plain: Any, observed: Any) -> Iterator[tuple[int, tuple[float, float]]]:  # noqa: ANN401  # points as JSON
    for (n, left), (_, right) in zip(plain, observed, strict=True):
        seconds = (median(each[0] for each in side) for side in (left, right))
        first, second = seconds
        yield n, (first, second)


def _costs(title: str, unit: Unit, sets: Sets, noise: float) -> Sequence[Cost]:
    """Return a run with as few as possible, and what one more adds to it."""
    least = min(sets[0])
    few = f"with {counted(least, unit[:-1])}" if least else f"without {unit}"
    run = _cost(title, f"a run {few}", least, _compared(sets, least, noise))
    lines = [[_line(each, side)[1] for side in (0, 1)] for each in sets]
    if min(each for both in lines for each in both) <= 0:
        return (run,)
    more = ratio([[each] for each in lines], 1, 0)
    one = Compared(
        floor="plain",
        floor_seconds=median(each[0] for each in lines),
        seconds=median(each[1] for each in lines),
        ratio=more,
        change=change(more, noise),
    )
    return run, _cost(title, f"one {unit[:-1]} more", 1, one)


def _cost(title: str, what: str, n: int, found: Compared) -> Cost:
    return Cost(
        key=f"observed/{title}/{what}",
        section="observed",
        name=f"{title}: {what}",
        n=n,
        history=1,
        tools=1,
        compared=(found,),
    )


def _compared(sets: Sets, n: int, noise: float) -> Compared:
    found = _ratio(sets, n)
    return Compared(
        floor="plain",
        floor_seconds=median(each[n][0] for each in sets),
        seconds=median(each[n][1] for each in sets),
        ratio=found,
        change=change(found, noise),
    )


def _ratio(sets: Sets, n: int) -> Estimate:
    return ratio([[each[n]] for each in sets], 1, 0)


def _line(times: Mapping[int, tuple[float, float]], side: int) -> tuple[float, float]:
    return line({n: both[side] for n, both in times.items()})


def _grown(title: str, unit: Unit, sets: Sets, noise: float) -> Growth:
    """Return how the observed run grows, and whether it grows faster than the plain."""
    numbers = sorted(sets[0])
    plain, times = (
        {n: median(each[n][side] for each in sets) for n in numbers} for side in (0, 1)
    )
    slopes = [interval([_line(each, side)[1] for each in sets]) for side in (0, 1)]
    fits = fits_of(times)
    last, first = numbers[-1], numbers[0]
    over = [
        (each[last][1] / each[last][0], each[first][1] / each[first][0])
        for each in sets
    ]
    rise = ratio([[each] for each in over], 0, 1)
    return _growth(title, unit).model_copy(
        update={
            "points": tuple(
                GrowthPoint(n=n, seconds=times[n], bare_seconds=plain[n])
                for n in numbers
            ),
            "slope": slopes[1],
            "bare_slope": slopes[0],
            "fits": fits,
            "shape": simplest(fits, slopes[1]),
            "rise": rise,
            "faster": change(rise, noise) == "dearer",
        }
    )


def _growth(title: str, unit: Unit, blocked: Blocked | None = None) -> Growth:
    return Growth(name=title, points=(), slope=None, unit=unit, blocked=blocked)
