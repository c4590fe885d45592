"""What each hook takes itself: a probe around it, and one around what it calls.

A wrapper's own time is that of its call without that of its ``next``. A probe costs
time too, so the same probe around a hook that does nothing is measured beside, and only
what is more than that counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from statistics import fmean, median
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias
from warnings import catch_warnings, simplefilter

from benchmarks import noops
from benchmarks.byhand import HELLO
from benchmarks.engine_runs import runs
from benchmarks.measure import MeasuredSide, Work, no_collections, repeats
from benchmarks.parts import SharedParts
from benchmarks.specs import Effort, SideSpec
from benchmarks.subject import SubjectExtensions, Subjects
from refengine import build_agent
from refengine.awaiting import is_async
from refengine.errors import MixedExtensionsWarning
from refengine.hooks import LOW_LEVEL, ONION_HOOKS, AnyHook
from refengine.testing.observers import HookDress

Call: TypeAlias = Callable[..., Any]
Like: TypeAlias = Literal["pipeline", "onion", "plain"]
"""An async hook that is awaited, one that calls what it wraps, a plain function."""
LIKES: Final[tuple[Like, ...]] = ("pipeline", "onion", "plain")
_NEXT: Final = 2
"""The place of ``next`` among what a wrapper is given."""


@dataclass(slots=True)
class ProbeClock:
    """The time of one hook: its own, in seconds, and how often it was called.

    ``like`` is of what kind its probe is, for one that does nothing to stand beside.
    """

    like: Like = "pipeline"
    own: float = 0.0
    calls: int = 0
    inside: float = 0.0
    """What the call that is going on spent in what it called."""


class HookProbes(HookDress):
    """The clocks of all hooks, by the extension's name and the hook's."""

    def __init__(self) -> None:
        super().__init__()
        self.clocks: dict[tuple[str, str], ProbeClock] = defaultdict(ProbeClock)

    def on(self, found: SubjectExtensions) -> SubjectExtensions:
        """Return the extensions with a probe around every hook."""
        structs = tuple(
            self.middleware(each, at) for at, each in enumerate(found.structs)
        )
        handlers = tuple(self.handlers(found.handlers))
        return replace(found, structs=structs, handlers=handlers)

    def reset(self) -> None:
        """Set all clocks to zero; hooks that were entered stay known."""
        for clock in self.clocks.values():
            clock.own, clock.calls = 0.0, 0

    def hook(self, where: str, hook: str, method: AnyHook) -> AnyHook:
        """Return the hook, probed."""
        if hook == LOW_LEVEL:
            return self.factory(where, hook, method)
        return self._hook(method, self.clocks[where, hook], hook in ONION_HOOKS)

    def _hook(self, hook: AnyHook, clock: ProbeClock, wraps: bool) -> AnyHook:
        if not is_async(hook):
            clock.like = "plain"
            return _plain(hook, clock)
        clock.like = "onion" if wraps else "pipeline"

        async def entered(*given: Any) -> Any:  # noqa: ANN401  # any hook's
            if wraps:
                given = (*given[:_NEXT], _timed(given[_NEXT], clock))
            start, clock.inside = perf_counter(), 0.0
            try:
                return await hook(*given)
            finally:
                clock.own += perf_counter() - start - clock.inside
                clock.calls += 1

        return entered

    def factory(self, where: str, hook: str, factory: Call) -> Call:
        """Probe what a factory makes: its last but one, or only, argument is inner.

        What it makes is awaited always, so it may be a plain function that hands on
        what another one gives to await.
        """
        clock = self.clocks[where, hook]
        clock.like = "onion"

        def make(*given: Any) -> Any:  # noqa: ANN401  # a factory of either interface
            at = 0 if len(given) == 1 else 1
            inner = given[at]
            timed = _timed(inner, clock)
            made = factory(*given[:at], timed, *given[at + 1 :])
            if made is timed:  # it adds no layer
                return inner
            return _layer(made, clock)

        return make


def _layer(made: Call, clock: ProbeClock) -> Call:
    async def entered(*given: Any) -> Any:  # noqa: ANN401  # any endpoint's
        start, clock.inside = perf_counter(), 0.0
        try:
            return await made(*given)
        finally:
            clock.own += perf_counter() - start - clock.inside
            clock.calls += 1

    return entered


def _plain(hook: AnyHook, clock: ProbeClock) -> AnyHook:
    def enter(*given: Any) -> Any:  # noqa: ANN401  # any hook's
        start = perf_counter()
        try:
            got = hook(*given)
        finally:
            clock.own += perf_counter() - start
            clock.calls += 1
        return _awaited(got, clock) if isawaitable(got) else got

    return enter


async def _awaited(got: Awaitable[object], clock: ProbeClock) -> object:
    """Await what a plain function gave to await: that is its time, too."""
    start = perf_counter()
    try:
        return await got
    finally:
        clock.own += perf_counter() - start


def _timed(inner: Call, clock: ProbeClock) -> Call:
    async def call(*given: Any) -> Any:  # noqa: ANN401  # any endpoint's
        start = perf_counter()
        try:
            return await inner(*given)
        finally:
            clock.inside += perf_counter() - start

    return call


Spent: TypeAlias = "dict[tuple[str, str], tuple[float, float]]"
"""Calls in a run and the seconds they take themselves, by handler and hook."""
NOTHING: Final = (noops.Rewriter, noops.ModelWrapper, noops.PlainRewriter)
"""A hook that does nothing for every kind of probe, in the order of ``LIKES``."""


@dataclass(frozen=True, slots=True)
class Probed:
    """One agent with a probe around every hook: the subject's, and those beside."""

    work: Work
    mine: HookProbes = field(default_factory=HookProbes)
    baseline: HookProbes = field(default_factory=HookProbes)


async def probed(subjects: Subjects, spec: SideSpec, effort: Effort) -> dict[str, Any]:
    """Return calls and own seconds of every hook, set-up by set-up.

    ``nothing`` holds the seconds of one call of a hook that does nothing, by what it
    is ``like``. Raises what the subject raises.
    """
    hooks: dict[tuple[str, str, Like], list[tuple[float, float]]] = {}
    nothing: list[dict[Like, float]] = []
    for _ in range(effort.sets):
        agent = await _set_up(subjects.extensions(spec, SharedParts()), spec)
        mine, baseline = await _spent(agent, effort)
        for key, each in mine.items():
            like = agent.mine.clocks[key].like
            hooks.setdefault((*key, like), []).append(each)
        nothing.append(_of_a_call(agent.baseline, baseline))
    return {"hooks": [[*key, each] for key, each in hooks.items()], "nothing": nothing}


async def _set_up(found: SubjectExtensions, spec: SideSpec) -> Probed:
    mine, baseline = HookProbes(), HookProbes()
    users = mine.on(found)
    nothing = [make(at) for at in range(2) for make in NOTHING]
    others = baseline.on(replace(found, structs=(), handlers=tuple(nothing))).handlers
    before, after = others[: len(NOTHING)], others[len(NOTHING) :]
    around = (*before, *users.handlers, *after)
    with catch_warnings():
        # It is our handlers that stand among a subject's structs.
        simplefilter("ignore", MixedExtensionsWarning)
        agent = await build_agent(replace(users, handlers=around).built())
    messages = (HELLO,) * spec.setting.history
    return Probed(runs(agent, messages, stream=spec.setting.stream), mine, baseline)


async def _spent(agent: Probed, effort: Effort) -> tuple[Spent, Spent]:
    """Return what the subject's hooks take, and those beside: medians over rounds."""
    often = await repeats(MeasuredSide(agent.work), effort.seconds)
    rounds: list[tuple[Spent, Spent]] = []
    with no_collections():
        for _ in range(effort.rounds):
            agent.mine.reset()
            agent.baseline.reset()
            for _ in range(often):
                await agent.work()
            rounds.append(
                (_reported(agent.mine, often), _reported(agent.baseline, often))
            )
    return _middle([one for one, _ in rounds]), _middle([two for _, two in rounds])


def _reported(probes: HookProbes, often: int) -> Spent:
    return {key: _of_a_run(clock, often) for key, clock in probes.clocks.items()}


def _of_a_run(clock: ProbeClock, often: int) -> tuple[float, float]:
    return clock.calls / often, clock.own / often


def _middle(rounds: list[Spent]) -> Spent:
    return {
        key: (
            median(each[key][0] for each in rounds),
            median(each[key][1] for each in rounds),
        )
        for key in rounds[0]
    }


def _of_a_call(probes: HookProbes, baseline: Spent) -> dict[Like, float]:
    clocks = probes.clocks
    return {
        like: fmean(
            own / n for key, (n, own) in baseline.items() if clocks[key].like == like
        )
        for like in LIKES
    }
