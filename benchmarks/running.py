"""A whole run of ``bench run``: noise first, then rows, growth, peers and bars.

The bars are what has to hold, each as a ratio and the most it may be.

What a run needs at its end is looked for before it begins: it may take long.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import log10
from pathlib import Path
from shlex import quote
from typing import Any, Final, TypeAlias

from benchmarks import plan
from benchmarks.bars import BARS
from benchmarks.defaults import PEERS
from benchmarks.growing import growth, memory_slope
from benchmarks.kinds import KINDS
from benchmarks.measurer import ChildLostError, Measurer
from benchmarks.observed import ObservedPlan
from benchmarks.observed import measured as measured_observed
from benchmarks.peers.measuring import Measured, measure_peers
from benchmarks.rows import NotMeasuredError, answer, cost, hook_costs, noise
from benchmarks.specs import Setting, SideSpec
from benchmarks.statistics import drawing, scipy_optimize, scipy_special
from benchmarks.subject import NO_HOOK
from compat.environments.workers import OURS, WorkerPython
from compat.verdicts.cost import (
    Bar,
    Cost,
    CostHeader,
    CostNoise,
    Costs,
    Growth,
    HookCost,
    PeerCost,
)
from property_tests.defaults import EXAMPLES, SEED
from refengine.errors import RefengineError
from refengine.testing.machine import facts


class OutputError(RefengineError):
    """A file that could not be written, were all measured."""

    def __init__(self, option: str, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"{option} {path}: {why}")


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Look for the libraries and the folders of files; measure and write nothing.

    The files are named by the option that asks for each, without its dashes. Raises
    WorldExtraError and OutputError.
    """
    scipy_special()
    scipy_optimize()
    if files.get("html") is not None or files.get("plot") is not None:
        drawing()
    seen: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        option = f"--{name}"
        _check_output(option, path)
        where = path.resolve()
        if where in seen:
            raise OutputError(option, path, f"it is the file of {seen[where]}, too")
        seen[where] = option


def _check_output(option: str, path: Path) -> None:
    if path.is_dir():
        raise OutputError(option, path, "it is a folder: name a file")
    if not path.parent.is_dir():
        raise OutputError(option, path, "its folder does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputError(option, path, "it cannot be written")


ADAPTED: Final = 1.3
BASE: Final = 0.1
HOOK: Final = 1.0
EXPONENT: Final = 1.25
"""1 is linear, 2 quadratic. Above 1 stays what processors do: 10,000 handlers do not
fit the caches that 1,000 do, and a bare loop over them slows down alike."""
DECADE: Final = (1_000, 10_000)


def bars(
    costs: Sequence[Cost], growth: Sequence[Growth], peers: Sequence[PeerCost]
) -> Iterator[Bar]:
    """Yield the bars; those that were not measured say so."""
    yield _worst(
        "adapted struct middleware over native, a run",
        ADAPTED,
        _adapted(costs),
        "no row compares them",
    )
    yield _worst(
        "growth from 1,000 to 10,000 handlers, its exponent",
        EXPONENT,
        _exponents(growth),
        "a quick run ends at 1,000 handlers",
    )
    why = "no peer was measured"
    yield _worst("base run over the fastest peer's", BASE, _bases(peers), why)
    name = "a hook over a peer's, where it is more than a loop by hand"
    yield _worst(name, HOOK, _hooks(peers), why)


def _worst(
    name: str, limit: float, found: Iterable[tuple[str, float]], why: str
) -> Bar:
    worst = max(found, key=lambda each: each[1], default=None)
    if worst is None:
        return Bar(name=name, ratio=None, limit=limit, holds=None, why=why)
    where, ratio = worst
    return Bar(name=name, ratio=ratio, limit=limit, holds=ratio <= limit, why=where)


def _adapted(costs: Iterable[Cost]) -> Iterator[tuple[str, float]]:
    for row in costs:
        if row.section == "forms" and row.name.endswith("adapted"):
            for each in row.compared:
                if each.floor == "native":
                    yield row.name, each.ratio.value


def _exponents(growth: Iterable[Growth]) -> Iterator[tuple[str, float]]:
    for each in growth:
        times = {point.n: point.seconds for point in each.points}
        first, last = DECADE
        if first in times and last in times and 0 in times:
            few, many = times[first] - times[0], times[last] - times[0]
            if few > 0 and many > 0:  # else handlers cost nothing that was seen
                yield each.name, log10(many / few) / log10(last / first)


def _bases(peers: Iterable[PeerCost]) -> Iterator[tuple[str, float]]:
    for each in peers:
        if each.base_over_ours is not None and not each.own:
            yield each.peer, 1 / each.base_over_ours.value


def _hooks(peers: Iterable[PeerCost]) -> Iterator[tuple[str, float]]:
    """Yield ours over theirs, where anything of theirs is in it.

    What is not told apart from bare Python is a loop that the user wrote inside one
    hook, as with LangGraph: no framework carries those functions.
    """
    for each in peers:
        ours, bare = each.over_ours, each.over_bare
        if each.own or ours is None or bare is None:
            continue
        if ours.low <= 0 or bare.low <= 1:
            continue
        yield f"{each.peer}: {each.hook}", 1 / ours.value


Report: TypeAlias = Callable[[str], None]
NOBODY: Final[Measured] = ((), ())
AT_BUILD: Final = (" before_agent", " modify_instruction", " modify_tools")


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What is measured: a subject, or handlers that do nothing and these peers.

    ``subject`` and ``against`` are as the user wrote them; ``places`` are the same as
    the child finds them.
    """

    subject: str | None = None
    against: str | None = None
    located: tuple[str | None, str | None] = (None, None)
    quick: bool = False
    peers: tuple[str, ...] = ()
    setup: Path | None = None
    packages: tuple[str, ...] = ()
    python: WorkerPython = OURS
    """Of the processes that are observed."""

    @property
    def command(self) -> str:
        """The command line that asks for it."""
        words = ["refengine bench run", quote(self.subject) if self.subject else ""]
        words += [f"--against {quote(self.against)}"] if self.against else []
        words += [f"--setup {quote(str(self.setup))}"] if self.setup else []
        words += [f"--with {quote(each)}" for each in self.packages]
        words += ["--quick"] if self.quick else []
        words += [] if self.subject or self.peers else ["--no-peers"]
        chosen = () if self.peers == PEERS else self.peers
        words += [f"--peer {each}" for each in chosen]
        return " ".join(filter(None, words))


def measured(request: BenchRequest, report: Report) -> Costs:
    """Measure all of it; ``report`` hears what is being done.

    Raises NotMeasuredError for what the user got wrong, ChildLostError, and
    WorldExtraError.
    """
    started, began = datetime.now(UTC), time.monotonic()
    found = (
        _ours(request, report)
        if request.setup is None
        else _observed(request, request.setup, report)
    )
    header = CostHeader(
        tool=version("refengine"),
        machine=facts(),
        command=request.command,
        quick=request.quick,
        subject=request.subject,
        against=request.against,
        setup=None if request.setup is None else request.setup.name,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 1),
    )
    return found.model_copy(update={"header": header})


def _ours(request: BenchRequest, report: Report) -> Costs:
    with Measurer() as measurer:
        run = _Run(measurer, request, report)
        return run.nothing() if request.subject is None else run.subject()


def _observed(request: BenchRequest, setup: Path, report: Report) -> Costs:
    """Measure frameworks that a setup observes, beside the same ones, plain."""
    asked = ObservedPlan(setup, request.peers, request.quick, request.python)
    found = measured_observed(asked, report)
    if found.noise is None:
        why = "; ".join(f"{each.peer}: {each.why}" for each in found.absent)
        raise NotMeasuredError(f"no framework runs here: {why}")
    return Costs(
        header=_EMPTY,
        noise=found.noise,
        costs=tuple(found.costs),
        growth=tuple(found.growth),
        absent=tuple(found.absent),
        told=tuple(found.told),
    )


class _Run:
    """One run, in one child."""

    def __init__(
        self, measurer: Measurer, request: BenchRequest, report: Report
    ) -> None:
        self._measurer = measurer
        self._request = request
        self._report = report
        self._effort = plan.QUICK if request.quick else plan.FULL
        self._growing = plan.GROWING_QUICK if request.quick else plan.GROWING

    def nothing(self) -> Costs:
        """Measure handlers that do nothing, how they grow, and the peers."""
        found = self._noise()
        costs = self._rows(list(plan.rows(quick=self._request.quick)), found)
        grown = tuple(self._grown())
        peers, absent = self._peers()
        return Costs(
            header=_EMPTY,
            noise=found,
            costs=costs,
            growth=grown,
            peers=peers,
            absent=absent,
            bars=(
                *bars(costs, grown, peers),
                *self._engine_bars(),
                *self._conform_bar(),
            ),
            told=tuple(self._left_out()),
        )

    def subject(self) -> Costs:
        """Measure the user's own handlers: all, each, each hook, and copies of them."""
        request = self._request
        reply = self._measurer.load(*request.located)
        if "wrong" in reply:
            raise NotMeasuredError(reply["wrong"])
        names: list[str] = reply["names"]
        found = self._noise()
        rows = list(plan.subject_rows(names, against=request.against is not None))
        costs = self._rows(rows, found)
        hooks, remarks = self._hooks()
        remarks = (*remarks, WAITS) if reply["waits"] else remarks
        return Costs(
            header=_EMPTY,
            noise=found,
            costs=costs,
            hooks=hooks,
            growth=(self._copies(len(names)),),
            told=(*remarks, *self._left_out()),
        )

    def _noise(self) -> CostNoise:
        self._report("comparing equal sides, to know what noise is")
        return noise(self._measurer, self._effort)

    def _rows(
        self, rows: Sequence[plan.PlannedRow], found: CostNoise
    ) -> tuple[Cost, ...]:
        costs: list[Cost] = []
        for at, row in enumerate(rows, 1):
            self._report(f"row {at} of {len(rows)}: {row.name}")
            costs.append(cost(self._measurer, row, self._effort, found.band))
        return tuple(costs)

    def _grown(self) -> Iterator[Growth]:
        for kind in KINDS.values():
            self._report(f"growth: {kind.hook}")
            ours, bare = plan.growth_sides(kind, quick=self._request.quick)
            found = growth(self._measurer, kind.hook, ours, bare, self._growing)
            slope = memory_slope(self._measurer, kind)
            yield found.model_copy(update={"memory_slope": slope})

    def _copies(self, handlers: int) -> Growth:
        self._report("growth: more and more copies of the subject")
        copies = plan.COPIES[: 4 if self._request.quick else None]
        setting = Setting(NO_HOOK, n=handlers)
        sides = [
            plan.nobody(setting),
            *(SideSpec("subject", setting, copies=number) for number in copies),
        ]
        name = "copies of the subject"
        return growth(self._measurer, name, sides, (), self._growing, _copies_of)

    def _hooks(self) -> tuple[tuple[HookCost, ...], tuple[str, ...]]:
        self._report("each hook by itself")
        side = SideSpec("subject", Setting(NO_HOOK))
        effort = plan.PROBING.to_json()
        request = {"do": "probe", "side": side.to_json(), "effort": effort}
        try:
            rows, never = hook_costs(answer(self._measurer, request))
        except (ChildLostError, NotMeasuredError) as error:
            return (), (f"no hook was measured by itself: {error}",)
        return rows, tuple(map(_not_called, never))

    def _peers(self) -> Measured:
        names = self._request.peers
        return (
            measure_peers(names, self._request.quick, self._report) if names else NOBODY
        )

    def _engine_bars(self) -> Iterator[Bar]:
        """Yield the bars of the engine against floors of its parts, if there is time.

        They are those of ``python -m benchmarks`` that have a limit.
        """
        for at, bar in enumerate(BARS if not self._request.quick else ()):
            if bar.limit is None:
                continue
            self._report(f"bar: {bar.name}")
            request = {"do": "bar", "at": at, "rounds": plan.BAR_ROUNDS}
            yield self._bar(request, bar.name, bar.limit)

    def _bar(self, request: dict[str, Any], name: str, limit: float) -> Bar:
        try:
            ratio = float(answer(self._measurer, request)["ratio"])
        except (ChildLostError, NotMeasuredError) as error:
            return Bar(name=name, ratio=None, limit=limit, holds=None, why=str(error))
        return Bar(name=name, ratio=ratio, limit=limit, holds=ratio <= limit)

    def _conform_bar(self) -> Iterator[Bar]:
        """Yield how fast the suite judges, over what we want; not in a quick run."""
        if self._request.quick:
            return
        self._report("bar: judging worlds")
        from property_tests.speed import measured as judged  # noqa: PLC0415  # it has a use for Hypothesis, and the other rows none

        yield judged(EXAMPLES, SEED, 1).bar

    def _left_out(self) -> Iterator[str]:
        if self._request.quick and self._request.subject is None:
            yield "Axes were measured for two hooks, growth up to 1,000 handlers"
            yield "The bars of the engine's parts: python -m benchmarks measures them"
        if self._request.subject is not None:
            yield "Streams that a handler converts are read after it: not in its time"
        elif not self._request.peers:
            yield "No other framework was measured beside it (--no-peers)"


def _not_called(hook: str) -> str:
    if hook.endswith(AT_BUILD):
        return f"{hook} acts when the agent is built: no run calls it"
    return f"{hook} was not called: nothing in this run leads to it"


def _copies_of(side: SideSpec) -> int:
    return side.copies if side.maker == "subject" else 0


WAITS: Final = (
    "The subject waits, or has other threads work: all times of it are the wall's, and"
    " neighbours on the machine are in them"
)
_EMPTY: Final = CostHeader(tool="", machine={}, command="", quick=False)
"""Stands in until the time that it took is known."""
