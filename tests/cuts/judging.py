"""Judging the law of INT in one world: cut at every point, the trace is the same.

What is compared are the channels of same-effects, of the world played once without
cuts by an agent that keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from types import MappingProxyType
from typing import Any, Final, get_args

from compat.verdicts.relations import DEFAULT_RELATION, channels_of
from property_tests.checks.specs import keeps_ids
from refengine.messages import Json
from refengine.profile import Profile
from refengine.resume.checkpoint import Keeper
from refengine.state import Checkpoints, MemoryStore
from refengine.testing import Scenario, Trace, clock
from refengine.testing.channels import Seen, project
from refengine.testing.strategies.worlds import calls_of
from refengine.testing.trace import first_divergence
from tests.cuts.play import CutsPlayer
from tests.cuts.points import Answering, CutError, Cutter, How

ANSWERING: Final[tuple[Answering, ...]] = get_args(Answering)
CHANNELS: Final = channels_of(DEFAULT_RELATION)
PROFILES: Final = ("seed-001", "langgraph-prebuilt-1", "langchain-1")
"""Those that go on in the middle of an iteration; the law holds for no others."""
ALIKE: Final = (
    "a wrapper may give two calls of a message one id: which is which is lost"
)
COUNTED: Final = "before_agent counts its runs, and it runs again on each resume"
_ALL_OF: Final = 24
"""Worlds of more points are not cut at all of them: that grows with the square."""
Projected = Mapping[str, Sequence[Mapping[str, Json]]]


@dataclass(frozen=True, slots=True)
class BrokenLaw:
    """How a world was played, where it was cut, and what differs."""

    how: How
    cuts: tuple[int, ...]
    at: str
    why: str

    def __str__(self) -> str:
        how = f"{self.how.profile.name}, {self.how.way}, answering {self.how.answering}"
        cuts = ", ".join(map(str, self.cuts))
        return f"{self.why}\n{how}, cut {cuts} ({self.at})"


def in_memory() -> Keeper:
    """Return a keeper for one time that a world is played."""
    return Checkpoints(MemoryStore())


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
    """Plays one world under one profile and one way, cut in every way asked for.

    ``make`` gives a keeper for each time it is played; ``labels`` are its points.
    """

    def __init__(
        self, scenario: Scenario, how: How, make: Callable[[], Keeper] = in_memory
    ) -> None:
        self._scenario = scenario
        self._how = how
        self._make = make
        self._played = 0
        cutter = Cutter()
        whole = clock.run(CutsPlayer(scenario, how, cutter).play())
        self._expected = projected(whole.trace)
        self.labels: Sequence[str] = cutter.labels

    def every(self, chance: Random) -> Iterator[BrokenLaw]:
        """Cut at nothing, at each point alone, at some together, and at all."""
        points = len(self.labels)
        alone = (frozenset((point,)) for point in range(1, points + 1))
        for cuts in chain((frozenset[int](),), alone, several(points, chance)):
            self._played += 1
            how = replace(self._how, answering=ANSWERING[self._played % 4])
            why = self._wrong(how, Cutter(cuts))
            if why is not None:
                yield self.broken(cuts, how, why)

    def _wrong(self, how: How, cutter: Cutter) -> str | None:
        """Return what is wrong with a world that was cut and resumed."""
        key = f"{self._played} "
        player = CutsPlayer(self._scenario, how, cutter, self._make(), key)
        try:
            played = clock.run(player.play())
        except CutError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # the engine let it out: a failure
            return f"{type(error).__name__}: {error}"
        if played.lost and how.profile.failing_call != "siblings_finish":
            return None  # a run ends with the error of a sibling, which cancels others
        if cutter.heard != cutter.hit:
            missed = sorted(cutter.hit - cutter.heard)
            return f"the answers to {missed} were never heard; runs {played.lost}"
        if len(cutter.cuts) == 1 and not cutter.hit:
            return "the cut was not met, though the world did the same before it"
        return self.same(played.trace)

    def broken(self, cuts: AbstractSet[int], how: How, why: str) -> BrokenLaw:
        """Return that the law is broken, and where."""
        where = sorted(cuts)
        at = "; ".join(self.labels[each - 1] for each in where[:3]) or "not cut"
        return BrokenLaw(how, tuple(where), at, why)

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
