"""Postures of order, on a real clock: what a virtual one makes of them may be its own.

On virtual time nothing is ever late, so an engine in which luck decides what comes
first shows one order all the same. Each scenario in which two tools take different
times is played with real delays, in both orders, time and again: what does not come out
the same each time is told as luck (protocol, Order).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from compat.profiles.comparing import played
from compat.profiles.confirming import Seen, projected
from refengine.profile import Profile
from refengine.testing.doors import Engine
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.session import play
from refengine.testing.trace import first_divergence

TIMES: Final = 2
"""10 and 20 ms of a scenario take so much longer: a busy machine is late, too."""

Shown: TypeAlias = "tuple[str, ...]"  # the options that fit what was seen, if any do


def both_orders(scenario: Scenario) -> list[Scenario]:
    """Return a scenario with real delays, and with them turned round.

    Nothing for one in which no two tools take different times.
    """
    agent = scenario.agent
    if agent is None:
        return []
    delays = [each.delay_ms for each in agent.tools]
    if len({each for each in delays if each}) < 2:
        return []
    return [
        scenario.model_copy(update={"agent": _delayed(agent, order)})
        for order in (delays, reversed(delays))
    ]


def _delayed(agent: AgentSpec, delays: Iterable[int]) -> AgentSpec:
    tools = tuple(
        tool.model_copy(update={"delay_ms": TIMES * delay})
        for tool, delay in zip(agent.tools, delays, strict=True)
    )
    return agent.model_copy(update={"tools": tools})


def shown_in_real_time(
    engine: Engine, scenario: Scenario, profiles: Mapping[str, Profile], repeats: int
) -> Iterator[Counter[Shown]]:
    """Yield for each order of delays how often which options fitted.

    ``profiles`` are one for each option, alike in all else. None fits where an engine
    breaks down.
    """
    for each in both_orders(scenario):
        known = {option: projected(played(each, p)) for option, p in profiles.items()}
        yield Counter(_fitting(engine, each, known) for _ in range(repeats))


def _fitting(engine: Engine, scenario: Scenario, known: Mapping[str, Seen]) -> Shown:
    try:
        seen = projected(asyncio.run(play(scenario, engine)))
    except Exception:  # noqa: BLE001  # whatever a stranger's engine raises
        return ()
    return tuple(
        option for option, ours in known.items() if first_divergence(seen, ours) is None
    )
