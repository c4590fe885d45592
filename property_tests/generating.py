"""Generated worlds of a corpus: Hypothesis draws them, always the same for a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings

from property_tests.corpus import Entry
from refengine.testing.scenario import Scenario
from refengine.testing.strategies import scenarios

FAMILIES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "plain": {},
        "failures": {"failures": True},
        "everything": {"failures": True, "unknown_calls": True, "counting": True},
        "distributing": {"distributes": True},
        "distributing failures": {"distributes": True, "failures": True},
        "unknown calls": {"unknown_calls": True},
        "structs": {"handlers": False, "tool_call_middlewares": False},
        "handlers": {"middlewares": False, "tool_call_middlewares": False},
        "threads": {"max_runs": 4, "counting": True},
    }
)
"""The choices of ``scenarios`` that worlds are drawn under, in equal shares."""


def generated(examples: int, *, seed: int) -> Iterator[Entry]:
    """Yield so many generated worlds, the families one after the other."""
    names = list(FAMILIES)
    for at, name in enumerate(names):
        count = examples // len(names) + (at < examples % len(names))
        for scenario in drawn(FAMILIES[name], count, seed + at):
            yield Entry(scenario, name, fixed=False)


def drawn(choices: Mapping[str, Any], count: int, number: int) -> list[Scenario]:
    """Draw so many scenarios under these choices."""
    found: list[Scenario] = []
    if not count:
        return found

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios(**choices))
    def draw(scenario: Scenario) -> None:
        found.append(scenario)

    draw()
    return found[:count]
