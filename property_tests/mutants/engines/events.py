"""Engines that are wrong about what the consumer of a run receives, and when (EVT)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from property_tests.given_runs import Events
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch
from refengine.events import AgentEvent


def given_to_consumer(change: Callable[[Given, Events], Events]) -> Patch:
    """Give the consumer other events than the right ones."""

    def replaced(right: Right) -> Right:
        def events(self: Given, loop: Given, saved: Given) -> Events:
            return change(loop, right(self, loop, saved))

        return events

    return patch("run.events", replaced)


def each_event(change: Callable[[AgentEvent], list[AgentEvent]]) -> Patch:
    """Give the consumer other events in place of each."""

    async def changed(_: Given, events: Events) -> Events:
        async for event in events:
            for each in change(event):
                yield each

    return given_to_consumer(changed)


def _held(kind: str) -> Patch:
    """Hold events of a kind until the run has come to its next one, or its end."""

    async def held(_: Given, events: Events) -> Events:
        waiting: list[AgentEvent] = []
        try:
            async for event in events:
                while waiting:
                    yield waiting.pop()
                waiting = [event] if event.kind == kind else []
                if not waiting:
                    yield event
        except Exception:
            for each in waiting:
                yield each
            raise
        for each in waiting:
            yield each

    return given_to_consumer(held)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "results-taken-late",
        "A result is told when the run has come to its next event.",
        "EVT-017",
        _held("tool"),
    ),
    broken(
        "responses-taken-late",
        "A response is told when the run has come to its next event.",
        "EVT-016",
        _held("model"),
    ),
)
