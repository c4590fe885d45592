"""Judging the law of INT in one world: cut at every point, the trace is the same.

What is compared are the channels of same-effects, of the world played once without
cuts by an agent that keeps nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import Any, Final, get_args

from compat.spreading import UnitData
from compat.verdicts.relations import DEFAULT_RELATION, channels_of
from property_tests.checks.specs import keeps_ids
from refengine.messages import Json
from refengine.profile import SEED_001, Profile, profile
from refengine.resume.checkpoint import Keeper
from refengine.testing import Scenario, Trace, clock
from refengine.testing.channels import Seen, project
from refengine.testing.strategies.worlds import calls_of
from refengine.testing.trace import first_divergence
from tools.resuming.play import CutsPlayer
from tools.resuming.points import Answering, CutError, Cutter, How, PlayedWithCuts

ANSWERING: Final[tuple[Answering, ...]] = get_args(Answering)
CHANNELS: Final = channels_of(DEFAULT_RELATION)
PROFILES: Final = ("seed-001", "langgraph-prebuilt-1", "langchain-1")
"""Those that go on in the middle of an iteration; the law holds for no others."""
LOST: Final = "the profile ends a run with the error of a sibling, which cancels others"
ALIKE: Final = (
    "a wrapper may give two calls of a message one id: which is which is lost"
)
COUNTED: Final = "before_agent counts its runs, and it runs again on each resume"
_ALL_OF: Final = 24
"""Worlds of more points are not cut at all of them: that grows with the square."""
Projected = Mapping[str, Sequence[Mapping[str, Json]]]


@dataclass(frozen=True, slots=True)
class BrokenLaw:
    """A world in which the law does not hold: where it was cut, and what differs."""

    scenario: str
    profile: str
    way: str
    answering: str
    cuts: tuple[int, ...]
    at: str
    why: str

    def __str__(self) -> str:
        cuts = f"cut {', '.join(map(str, self.cuts))} ({self.at})"
        how = f"{self.profile}, {self.way}, answering {self.answering}"
        return f"{self.why}\n{how}, {cuts}\n{self.scenario}"


NUMBERS: Final = ("worlds", "cuts", "several", "interrupts", "reentered", "waited")


@dataclass(slots=True)
class Figures:
    """What was played, and what came of it."""

    worlds: int = 0
    cuts: int = 0
    several: int = 0
    interrupts: int = 0
    reentered: int = 0
    waited: int = 0
    by: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    skipped: Counter[str] = field(default_factory=Counter[str])
    broken: list[BrokenLaw] = field(default_factory=list[BrokenLaw])

    def count(self, what: str, name: str, number: int = 1) -> None:
        """Count something under a heading of the report."""
        self.by.setdefault(what, Counter())[name] += number

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON values; ``asdict`` would count a Counter's pairs."""
        return {
            **{each: getattr(self, each) for each in NUMBERS},
            "by": {what: dict(counts) for what, counts in self.by.items()},
            "skipped": dict(self.skipped),
            "broken": [asdict(each) for each in self.broken],
        }

    def join(self, part: UnitData) -> None:
        """Add the figures of a part of the worlds, as ``to_json`` gave them."""
        for each in NUMBERS:
            setattr(self, each, getattr(self, each) + part[each])
        for what, counts in part["by"].items():
            self.by.setdefault(what, Counter()).update(counts)
        self.skipped.update(part["skipped"])
        for each in part["broken"]:
            self.broken.append(replace(BrokenLaw(**each), cuts=tuple(each["cuts"])))


@dataclass(frozen=True, slots=True)
class Stores:
    """Makes a keeper for each time a world is played; ``name`` is reported."""

    name: str
    make: Callable[[], Keeper]


def projected(trace: Trace) -> Projected:
    """Return what the relation looks at."""
    seen = Seen(trace)
    return MappingProxyType(
        {name: [each.value for each in project(seen, name)] for name in CHANNELS}
    )


def difference(
    expected: Projected, got: Projected, *, as_finished: bool = False
) -> str | None:
    """Return the channel that differs first, and where; None if none does.

    Events that come ``as_finished`` are compared in the order of their calls.
    """
    for channel in CHANNELS:
        one, other = expected[channel], got[channel]
        if as_finished and channel == "events":
            one, other = sorted(one, key=_call), sorted(other, key=_call)
        found = first_divergence(one, other)
        if found is not None:
            return f"{channel}: {found}"
    return None


def _call(event: Mapping[str, Json]) -> str:
    return f"{event['run']} {event.get('call_id') or ''}"


class CutsJudge:
    """Plays one world under one profile and one way, cut in every way asked for."""

    def __init__(
        self, scenario: Scenario, how: How, stores: Stores, figures: Figures
    ) -> None:
        self._scenario = scenario
        self._how = how
        self._stores = stores
        self._figures = figures
        self._played = 0
        cutter = Cutter()
        whole = clock.run(CutsPlayer(scenario, how, cutter).play())
        self._expected = projected(whole.trace)
        self.labels: Sequence[str] = cutter.labels

    def every(self, chance: Random) -> None:
        """Cut at nothing, at each point alone, at some together, and at all."""
        figures = self._figures
        why = outside(self._scenario, self._how.profile)
        if why is not None:
            figures.skipped[why] += 1
            return
        figures.worlds += 1
        self._cut(frozenset())
        points = range(1, len(self.labels) + 1)
        if not points:
            figures.skipped[self._nothing()] += 1
        for point in points:
            figures.cuts += 1
            figures.count("phase", self.labels[point - 1])
            self._cut(frozenset((point,)))
        for cuts in several(len(points), chance):
            figures.several += 1
            self._cut(cuts)

    def _nothing(self) -> str:
        if "errors" in self._expected and not self._expected["answer"]:
            return "worlds that cannot be built: there is no run to cut"
        return "worlds in which no hook, wrapper or tool is ever entered"

    def _cut(self, cuts: AbstractSet[int]) -> None:
        self._played += 1
        answering = ANSWERING[self._played % len(ANSWERING)]
        self._figures.count("store", self._stores.name)
        self._figures.count("profile", f"{self._how.profile.name}, {self._how.way}")
        self._figures.count("answering", answering)
        how = replace(self._how, answering=answering)
        cutter = Cutter(cuts)
        try:
            played = clock.run(self._player(how, cutter).play())
            why = self._wrong(played, cutter)
        except CutError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  # the engine let it out: a failure
            why = f"{type(error).__name__}: {error}"
        if why is not None:
            self.tell(cuts, how, why)

    def _player(self, how: How, cutter: Cutter) -> CutsPlayer:
        return CutsPlayer(
            self._scenario, how, cutter, self._stores.make(), f"{self._played} "
        )

    def _wrong(self, played: PlayedWithCuts, cutter: Cutter) -> str | None:
        """Return what is wrong with a world that was cut and resumed."""
        figures = self._figures
        figures.interrupts += len(cutter.heard)
        figures.reentered += cutter.reentered
        figures.waited += played.waited
        if played.lost and self._how.profile.failing_call != "siblings_finish":
            figures.skipped[LOST] += 1
            return None
        if cutter.heard != cutter.hit:
            missed = sorted(cutter.hit - cutter.heard)
            return f"the answers to {missed} were never heard; runs {played.lost}"
        if len(cutter.cuts) == 1 and not cutter.hit:
            return "the cut was not met, though the world did the same before it"
        return self.same(played.trace)

    def tell(self, cuts: AbstractSet[int], how: How, why: str) -> None:
        """Put down that the law is broken."""
        where = sorted(cuts)
        at = "; ".join(self.labels[each - 1] for each in where[:3]) or "not cut"
        world = self._scenario.model_dump_json(exclude_defaults=True)
        self._figures.broken.append(
            BrokenLaw(
                *(world, how.profile.name, how.way, how.answering),
                *(tuple(where), at, why),
            )
        )

    def same(self, trace: Trace) -> str | None:
        """Return where a trace that was made elsewhere differs from the whole one."""
        under = self._how.profile
        as_finished = under.tool_events == "as_finished"
        return difference(self._expected, projected(trace), as_finished=as_finished)


def several(points: int, chance: Random) -> Iterator[frozenset[int]]:
    """Yield sets of points that are cut in one session: two, three, and all."""
    every = range(1, points + 1)
    for many in (2, 3):
        if points >= many:
            yield frozenset(chance.sample(every, many))
    if 1 < points <= _ALL_OF:
        yield frozenset(every)


def ways(scenario: Scenario, number: int) -> Iterator[How]:
    """Yield how a world is played: natively, and adapted where it has structs.

    Every fourth world is played under another profile besides seed 001.
    """
    others: list[Profile] = [SEED_001]
    if not number % 4:
        others.append(profile(PROFILES[1 + number // 4 % (len(PROFILES) - 1)]))
    structs = any(agent.middlewares for agent in scenario.all_agents)
    for under in others:
        yield How(under)
        if structs and under is SEED_001:
            yield How(under, "adapted")


def outside(scenario: Scenario, under: Profile) -> str | None:
    """Return why the law says nothing about a world; None if it does."""
    if under.changed_call_id == "taken_over" and alike(scenario):
        return ALIKE
    if under.before_agent == "run" and counts_runs(scenario):
        return COUNTED
    return None


def counts_runs(scenario: Scenario) -> bool:
    """Tell whether before_agent does another thing the next time it is entered."""
    handlers = (each for agent in scenario.all_agents for each in agent.handlers)
    ops = (op for each in handlers for op in each.before_agent or ())
    return any(op.on_call is not None for op in ops)


def alike(scenario: Scenario) -> bool:
    """Tell whether a wrapper may give one id to several calls of a message."""
    if all(keeps_ids(agent) for agent in scenario.all_agents):
        return False
    return any(calls_of(entry) > 1 for entry in scenario.model_script)


def builds_again(scenario: Scenario) -> bool:
    """Tell whether its operations count, or it makes tools, when it is built."""
    agents: list[Any] = list(scenario.all_agents)
    text = "".join(each.model_dump_json(exclude_defaults=True) for each in agents)
    return "on_call" in text or "<run>" in text
