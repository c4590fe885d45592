"""Measuring each hook of a subject by itself, beside hooks that do nothing.

Those stand in the same agent, one before the subject's and one after them: in another
agent they were 30 ns slower, and behind a hook that does nothing itself 50 ns faster,
for what lay in the caches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Any, Final, TypeAlias
from warnings import catch_warnings, simplefilter

from benchmarks import noops
from benchmarks.byhand import HELLO
from benchmarks.measure import Side, Work, no_collections, repeats
from benchmarks.parts import Kit
from benchmarks.probes import LIKES, Clock, Like, Probes
from benchmarks.specs import Effort, SideSpec
from benchmarks.subject import Extensions, Subjects
from benchmarks.whole import runs
from refengine import build_agent
from refengine.errors import MixedExtensionsWarning

Spent: TypeAlias = "dict[tuple[str, str], tuple[float, float]]"
"""Calls in a run and the seconds they take themselves, by handler and hook."""
NOTHING: Final = (noops.Rewriter, noops.ModelWrapper, noops.PlainRewriter)
"""A hook that does nothing for every kind of probe, in the order of ``LIKES``."""


@dataclass(frozen=True, slots=True)
class Probed:
    """One agent with a probe around every hook: the subject's, and those beside."""

    work: Work
    mine: Probes = field(default_factory=Probes)
    beside: Probes = field(default_factory=Probes)


async def probed(subjects: Subjects, spec: SideSpec, effort: Effort) -> dict[str, Any]:
    """Return calls and own seconds of every hook, set-up by set-up.

    ``nothing`` holds the seconds of one call of a hook that does nothing, by what it
    is ``like``. Raises what the subject raises.
    """
    hooks: dict[tuple[str, str, Like], list[tuple[float, float]]] = {}
    nothing: list[dict[Like, float]] = []
    for _ in range(effort.sets):
        agent = await _set_up(subjects.extensions(spec, Kit()), spec)
        mine, beside = await _spent(agent, effort)
        for key, each in mine.items():
            like = agent.mine.clocks[key].like
            hooks.setdefault((*key, like), []).append(each)
        nothing.append(_of_a_call(agent.beside, beside))
    return {"hooks": [[*key, each] for key, each in hooks.items()], "nothing": nothing}


async def _set_up(found: Extensions, spec: SideSpec) -> Probed:
    mine, beside = Probes(), Probes()
    users = mine.on(found)
    nothing = [make(at) for at in range(2) for make in NOTHING]
    others = beside.on(replace(found, structs=(), handlers=tuple(nothing))).handlers
    before, after = others[: len(NOTHING)], others[len(NOTHING) :]
    around = (*before, *users.handlers, *after)
    with catch_warnings():
        # It is our handlers that stand among a subject's structs.
        simplefilter("ignore", MixedExtensionsWarning)
        agent = await build_agent(replace(users, handlers=around).built())
    messages = (HELLO,) * spec.setting.history
    return Probed(runs(agent, messages, stream=spec.setting.stream), mine, beside)


async def _spent(agent: Probed, effort: Effort) -> tuple[Spent, Spent]:
    """Return what the subject's hooks take, and those beside: medians over rounds."""
    often = await repeats(Side(agent.work), effort.seconds)
    rounds: list[tuple[Spent, Spent]] = []
    with no_collections():
        for _ in range(effort.rounds):
            agent.mine.reset()
            agent.beside.reset()
            for _ in range(often):
                await agent.work()
            rounds.append((_told(agent.mine, often), _told(agent.beside, often)))
    return _middle([one for one, _ in rounds]), _middle([two for _, two in rounds])


def _told(probes: Probes, often: int) -> Spent:
    return {key: _of_a_run(clock, often) for key, clock in probes.clocks.items()}


def _of_a_run(clock: Clock, often: int) -> tuple[float, float]:
    return clock.calls / often, clock.own / often


def _middle(rounds: list[Spent]) -> Spent:
    return {
        key: (
            median(each[key][0] for each in rounds),
            median(each[key][1] for each in rounds),
        )
        for key in rounds[0]
    }


def _of_a_call(probes: Probes, beside: Spent) -> dict[Like, float]:
    clocks = probes.clocks
    return {
        like: fmean(
            own / n for key, (n, own) in beside.items() if clocks[key].like == like
        )
        for like in LIKES
    }
