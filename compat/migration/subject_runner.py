"""A side as the judge plays it: a child, started over if need be, and what it did."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import Final

from compat.migration.given import NOTHING, GivenData
from compat.migration.kept_runs import KeptRuns, LeftData
from compat.migration.options import (
    EVERYWHERE,
    EXAMPLES,
    NO_REACH,
    ORDINARY,
    TIMEOUT,
    Reach,
)
from compat.migration.own_code import OwnCode, Owns, decoded, owns_all
from compat.migration.pairs import (
    Pair,
    PlayError,
    Progress,
    SideRunner,
    TracedWorld,
    silent,
)
from compat.migration.refs import SubjectRef
from compat.migration.replies import SideFault
from compat.migration.reproducer import SideFiles
from compat.migration.subject_process import (
    PLAIN,
    Label,
    SidePlayed,
    SubjectProcess,
    play_together,
)
from compat.migration.surroundings import brought_by
from compat.migration.wire import Wire
from compat.verdicts.migration import Exercise, ExercisedSetup, FailedSide
from compat.verdicts.sharpness import pinned
from refengine.testing.compare_probes import CompareSite
from refengine.testing.isolation.own_network import can_leave_network
from refengine.testing.isolation.side_doors import steady
from refengine.testing.own_failures import failures_in
from refengine.testing.probes import Arm
from refengine.testing.scenario import Scenario

USER_FAULTS: Final = frozenset(
    (
        "missing-file",
        "missing-name",
        "not-callable",
        "syntax",
        "setup",
        "import",
        "raised",
        "wrong-result",
        "effect",
        "endless",
        "intent",
    )
)
"""Faults that are a mistake in the reference or in the subject, reported as usage."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How a check is run; ``progress`` hears how far it has come.

    With ``wire``, graphs ask a server by a vendor's client. ``given`` is what the user
    has of his own: sessions, tools, samples. ``reach`` is what a subject's code may see
    and use of the machine. Small changes of both sides are played ``sharpness_plays``
    times, all together, and ``min_sharpness`` percent of each have to be noticed. With
    ``strict``, a verdict that holds weakly is none. With ``hand_over`` NEW goes on with
    runs that OLD ``kept``.
    """

    examples: int = EXAMPLES
    seed: int = 0
    timeout: float = TIMEOUT
    profile: str = "seed-001"
    progress: Progress = silent
    domain: str = ORDINARY
    wire: Wire | None = None
    given: GivenData = NOTHING
    sharpness_plays: int = 0
    min_sharpness: float = 0.0
    reach: Reach = NO_REACH
    search_plays: int = 0
    strict: bool = False
    hand_over: bool = False
    kept: KeptRuns | None = None


COMPARES: Final[Mapping[str, object]] = MappingProxyType({"compares": True})
STEPS: Final[Mapping[str, object]] = MappingProxyType({"steps": None})
"""Loading a subject so that the lines that a world reaches are known."""

BREAKS: Final = "its own code breaks"
"""Why a world is outside the domain of a side that raises there without meaning to."""
SEEDS: Final[Mapping[Label, int]] = {"old": 1, "new": 2}
"""The hash seed of each side, which plays again with that of the other one.

A set has another order under another seed, so what depends on it differs somewhere; and
with two of them all children of a check are copies of two processes.
"""


class SubjectRunner:
    """A side as the judge plays it: starts over after a fault, sums up what ran."""

    def __init__(
        self,
        ref: SubjectRef,
        label: Label,
        check: CheckOptions,
        *,
        hash_seed: int | None = None,
        compares: bool = False,
    ) -> None:
        self._compares = compares
        self._hash_seed = hash_seed or SEEDS[label]
        self._ref = ref
        self.label: Label = label
        self.owns: Callable[[], Owns] = lambda: owns_all
        self._check = check
        self._hooks: Counter[str] = Counter()
        self._taken: set[int] = set()
        self._printed: dict[str, None] = {}
        self._ways: set[str] = set()
        self._limits: Sequence[str] = ()
        self._built = False
        self.keeps: str | None = None
        self._first: dict[int, tuple[Scenario, SidePlayed]] = {}
        self._raised: str | None = None
        self._ready = False
        self._side = self._started()

    def share_with(self, new: SubjectRunner) -> None:
        """Have each branch be one side's alone where both have a file."""

        def own() -> OwnCode:
            return OwnCode.of(self.files, new.files)

        self.owns, new.owns = lambda: own().is_old, lambda: own().is_new

    def anew(self) -> SubjectRunner:
        """Return the same side in a process of its own, with another hash seed."""
        seed = sum(SEEDS.values()) - self._hash_seed
        other = SubjectRunner(self._ref, self.label, self._check, hash_seed=seed)
        other.run_in(self._limits)
        other._built = self._built
        return other

    def watched(self) -> SubjectRunner:
        """Return the same side in a process of its own that tells what it compares."""
        seed = self._hash_seed
        other = SubjectRunner(
            self._ref, self.label, self._check, hash_seed=seed, compares=True
        )
        other.run_in(self._limits)
        other._built = self._built
        return other

    @property
    def ways(self) -> Sequence[str]:
        """The ways its graph was run in when asked to; none if it is not a graph."""
        return sorted(self._ways)

    def run_in(self, ways: Sequence[str]) -> None:
        """Run its graph in no other ways than these; in any if there are none."""
        self._limits = ways
        self._side.ways = ways

    def close(self) -> None:
        """End the child."""
        self._side.close()

    @property
    def intends(self) -> Sequence[str]:
        """What the subject says it intends."""
        return self._running.loaded.intents

    @property
    def exercise(self) -> Exercise:
        """What all worlds so far made the subject do."""
        owns = self.owns()
        arms = [a for a in self._running.loaded.arms if owns(a.file, a.line)]
        missed = [arm for arm in arms if arm.id not in self._taken]
        return Exercise(
            str(self._ref),
            dict(self._hooks),
            len(arms),
            tuple(map(_named, missed)),
            tuple(self._printed),
            self._running.loaded.frameworks,
            tuple(self.ways),
            self._observed,
        )

    @property
    def _observed(self) -> ExercisedSetup | None:
        """What its setup did, if it has one."""
        if self._ref.setup is None:
            return None
        loaded, brought = self._running.loaded, brought_by(self._ref)
        name = self._ref.setup.name
        return ExercisedSetup(name, loaded.changed, loaded.spans, brought)

    @property
    def tools(self) -> tuple[object, ...]:
        """What else decides on what it does in a world: versions, and what it may use.

        Whether a world takes too long is no part of that.
        """
        environment, reach = self._ref.environment, self._check.reach
        python = sys.version if environment is None else environment.version
        packages = () if environment is None else sorted(environment.packages.items())
        frameworks = sorted(self._running.loaded.frameworks.items())
        around = reach.net, reach.side_doors, reach.services, self._check.profile
        return version("refengine"), python, sys.platform, packages, frameworks, around

    @property
    def every_branch(self) -> Sequence[str]:
        """The branches that there are in what was imported so far."""
        return [_named(arm) for arm in self._running.loaded.arms]

    @property
    def branch_pins(self) -> Mapping[str, str]:
        """What a mark in the settings names each branch by, by how a report does."""
        loaded, found = self._running.loaded, dict[str, str]()
        texts = {name: (loaded.folder / name).read_bytes() for name in loaded.files}
        lines = {name: decoded(text).splitlines() for name, text in texts.items()}
        for arm in loaded.arms:
            source = lines[arm.file][arm.line - 1].strip() if arm.file in lines else ""
            found[_named(arm)] = pinned(arm.file, source, arm.text)
        return found

    def branches(self, played: SidePlayed) -> Sequence[str]:
        """Return the branches that a world took, in the order of the source."""
        arms = self._running.loaded.arms
        return [_named(arm) for arm in arms if arm.id in played.arms]

    @property
    def files(self) -> SideFiles:
        """The subject's own files, for a reproducer."""
        loaded = self._running.loaded
        texts = {name: (loaded.folder / name).read_bytes() for name in loaded.files}
        return SideFiles(texts, loaded.files[0], self._ref.name, self._ref.module)

    @property
    def lists(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The lists of its extensions, if it was asked to tell them."""
        return self._running.loaded.lists

    @property
    def sites(self) -> Sequence[CompareSite]:
        """Where its own code compares, if it tells what."""
        return self._running.loaded.sites

    def play(self, world: Scenario) -> SidePlayed:
        """Play one world; raises PlayError."""
        with restarting(self):
            return self._summed(self._running.play(world), world)

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[SidePlayed]:
        """Play many worlds; raises PlayError."""
        with restarting(self):
            all_played = self._running.play_all(worlds, first=1)
            for world, played in zip(worlds, all_played, strict=True):
                self._remember(world, played)
                yield self._summed(played, world)
            self.see_that_it_works()

    def leave(self, world: Scenario) -> LeftData:
        """Play a session up to where it is handed over; raises SideFault."""
        try:
            return self._running.leave(world)
        except SideFault:
            self.start_over()
            raise

    def broken(self, played: TracedWorld) -> Sequence[str]:
        """Return which intended effects a trace does not show; raises PlayError."""
        with restarting(self):
            return self._running.broken_intents(played.jsonl)

    def ready(self) -> None:
        """Wait until the subject is loaded; raises PlayError."""
        with restarting(self):
            _ = self._running

    @property
    def _running(self) -> SubjectProcess:
        """The child, once it has loaded the subject; raises SideFault."""
        if not self._ready:
            self._side.wait()
            self._ready = True
        return self._side

    def _started(self) -> SubjectProcess:
        """Start a child, without waiting for it."""
        loading = STEPS if self._check.sharpness_plays else PLAIN
        return self._child(COMPARES if self._compares else loading, self._check.reach)

    def apart(self, loading: Mapping[str, object]) -> SubjectProcess:
        """Start a child like its own, with a small change; raises SideFault.

        What that does nobody has written, so it reaches nothing outside.
        """
        reach = replace(self._check.reach, net=(), closed=True)
        return self._child(loading, reach).waited()

    def usual(self, worlds: Sequence[Scenario]) -> list[SidePlayed]:
        """Return what it did in these worlds first, with lines; raises SideFault."""
        missing = [each for each in worlds if id(each) not in self._first]
        if missing:
            with self._child(STEPS, self._check.reach).waited() as side:
                played = side.play_all(missing, first=1)
                for world, each in zip(missing, played, strict=True):
                    self._remember(world, each)
        return [self._first[id(each)][1] for each in worlds]

    @property
    def builder(self) -> str:
        """The name of the function that builds the subject."""
        return self._ref.name

    def followed(self, world: Scenario) -> SidePlayed:
        """Play a world with the places in its own code; raises SideFault."""
        with self._child(STEPS, self._check.reach).waited() as side:
            return side.play(world, places=True)

    def _remember(self, world: Scenario, played: SidePlayed) -> None:
        """Keep what a world's object stands for, and the object, lest it is another."""
        if played.steps is not None:
            self._first.setdefault(id(world), (world, played))

    def _child(self, loading: Mapping[str, object], reach: Reach) -> SubjectProcess:
        apart = self._check.wire is None and not reach.net and can_leave_network()
        side = SubjectProcess(
            self._ref,
            self.label,
            timeout=self._check.timeout,
            profile=self._check.profile,
            hash_seed=self._hash_seed,
            loading=loading,
            reach=replace(reach, apart=apart),
        )
        side.ways = self._limits
        side.wire, side.kept = self._check.wire, self._check.kept
        return side

    def start_over(self) -> None:
        """Have another child if the last one cannot be played any more."""
        if self._ready and not self._side.alive:
            self._ready = False
            self._side = self._started()

    def beside(
        self, other: SubjectRunner, worlds: Sequence[Scenario]
    ) -> Iterator[Pair]:
        """Play worlds while another side plays them, too; raises SideFault."""
        sides = [self._running, other._running]
        both = play_together(sides, worlds, first=1)
        for world, (mine, theirs) in zip(worlds, both, strict=True):
            self._remember(world, mine)
            other._remember(world, theirs)
            yield self._summed(mine, world), other._summed(theirs, world)
        for each in (self, other):
            each.see_that_it_works()

    def see_that_it_works(self) -> None:
        """Raise SideFault if OLD raised wherever it was called.

        Where only NEW cannot be built, that is how they differ.
        """
        if self._raised is not None and not self._built and self.label == "old":
            raise SideFault("raised", self.label, self._ref.text, self._raised, 1)

    def _summed(self, played: SidePlayed, world: Scenario) -> SidePlayed:
        played = self._within(played)
        self._built = self._built or played.unbuilt is None
        self._raised = self._raised or played.unbuilt
        self.keeps = self.keeps or played.keeps
        if played.way == world.way:
            self._ways.add(world.way)
        for hook, times in played.hooks.items():
            self._hooks[hook] += times
        self._taken |= played.arms
        for line in played.printed.lines[:1]:
            self._printed.setdefault(steady(line))
        return played

    def _within(self, played: SidePlayed) -> SidePlayed:
        """Have a world in which own code breaks by itself be outside its domain."""
        if played.refused or self._check.domain == EVERYWHERE:
            return played
        broke = any(True for _ in failures_in(played.jsonl))
        return replace(played, refused=BREAKS) if broke else played


def _named(arm: Arm) -> str:
    return f"{arm.file}, line {arm.line}: {arm.text}"


@contextmanager
def restarting(*runners: SubjectRunner) -> Generator[None, None, None]:
    """Raise a fault as PlayError, and start over the sides that it ended."""
    try:
        yield
    except SideFault as fault:
        for each in runners:
            each.start_over()
        usage = fault.kind in USER_FAULTS
        label: Label = "old" if fault.label == "old" else "new"
        failed = FailedSide(label, fault.kind, str(fault), usage)
        raise PlayError(failed) from fault


def anew(player: SideRunner) -> AbstractContextManager[SideRunner]:
    """Open a side once more, in a process that ends with the block."""
    return closing(_runner(player).anew())


def beside(
    old: SideRunner, new: SideRunner, worlds: Sequence[Scenario]
) -> Iterator[Pair]:
    """Play the same worlds on two sides at the same time; raises PlayError."""
    runners = (_runner(old), _runner(new))
    with restarting(*runners):
        yield from runners[0].beside(runners[1], worlds)


def _runner(player: SideRunner) -> SubjectRunner:
    if not isinstance(player, SubjectRunner):
        raise TypeError(player)
    return player
