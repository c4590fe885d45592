"""Recorded sessions whose streams are cut elsewhere, and whose runs are cut short."""

from __future__ import annotations

from typing import Final

from refengine.testing.scenario import CancelSpec, RunSpec, Scenario
from refengine.testing.strategies.variants import cut_anywhere
from refengine.testing.subject_worlds.words import Dice

MOMENTS: Final = ("model_chunk", "model_chunk", "model_request", "tool_start")
"""When a run is cancelled."""


def cut_elsewhere(scenario: Scenario, dice: Dice) -> Scenario:
    """Return a session streamed, with answers cut in words and in arguments of calls.

    Where a session was a stream it is played as that was cut, too, as it is.
    """
    places = sorted(dice.below(300) for _ in range(1 + dice.below(12)))
    script = tuple(cut_anywhere(each, places) for each in scenario.model_script)
    runs = tuple(each.model_copy(update={"streaming": True}) for each in scenario.runs)
    return scenario.model_copy(update={"model_script": script, "runs": runs})


def kept(scenario: Scenario, _: Dice) -> Scenario:
    """Return a session of which each run is kept, and none interrupted."""
    runs = [
        each.model_copy(update={"checkpoint": f"run {at}"})
        for at, each in enumerate(scenario.runs)
    ]
    return scenario.model_copy(update={"runs": tuple(runs)})


def cancelled(scenario: Scenario, dice: Dice) -> Scenario:
    """Return a session whose first run is cancelled, and another turn behind it."""
    first, *later = scenario.runs
    when = dice.pick(MOMENTS)
    nth = 1 + dice.below(4) if when == "model_chunk" else 1
    cut = first.model_copy(update={"cancel": CancelSpec(when=when, nth=nth)})
    again = RunSpec(
        input=("user:go on",),
        continues=True,
        streaming=first.streaming,
        agent=first.agent,
    )
    return scenario.model_copy(update={"runs": (cut, again, *later)})
