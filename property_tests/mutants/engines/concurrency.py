"""Engines that are wrong about what goes on side by side (CONC)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import built
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    patch,
    wrong,
)
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.profile import Profile, choosing
from refengine.testing.doors import EngineAgent, EngineRun, ReferenceEngine
from refengine.tools import NO_OPTIONS


def _cancelling(*, where_sequential: bool) -> Door:
    """Let a failing call take its siblings along, of sequential calls or of others."""

    async def build(
        config: ChatModelAgentConfig, profile: Profile, on_notice: OnNotice
    ) -> EngineAgent:
        if config.tools_config.sequential is where_sequential:
            profile = choosing(profile, "failing_call", "siblings_cancelled")
        return await build_agent(config, profile, on_notice=on_notice)

    return built(build)


def _names_of_all_agents() -> Sequence[Patch]:
    """Count names through all agents, and number one that was given before."""
    so_far: Counter[str] = Counter()

    def numbered(name: str) -> str:
        so_far[name] += 1
        return f"{name}[{so_far[name] - 1}]" if so_far[name] > 1 else name

    def replaced(right: Right) -> Right:
        def collect(structs: Given, handlers: Sequence[Given], *more: Given) -> Given:
            found = right(structs, handlers, *more)
            names = [numbered(each.name) for each in handlers]
            pairs = zip(found.handlers, names, strict=True)
            named = tuple(replace(each, name=name) for each, name in pairs)
            return replace(found, handlers=named)

        return collect

    return (patch("extensions.collect", replaced),)


def _options_of_last() -> Sequence[Patch]:
    """Keep options on the agent, where the run that is made next writes its own."""
    last: dict[str, Given] = {}

    def made(right: Right) -> Right:
        def run(self: Given, *given: Given, **how: Given) -> Given:
            last["options"] = how.get("options") or NO_OPTIONS
            return right(self, *given, **how)

        return run

    def begun(right: Right) -> Right:
        def events(self: Given, loop: Given, saved: Given) -> Given:
            loop.options = last["options"]
            return right(self, loop, saved)

        return events

    return patch("agent.run", made), patch("run.events", begun)


class _LastBuiltEngine:
    """An engine all of whose agents are the one that was built last."""

    def __init__(self, profile: Profile) -> None:
        self._right = ReferenceEngine(profile)
        self.name = self._right.name
        self.last: Given = None

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        self.last = await self._right.build(config, on_notice)
        return _LastBuilt(lambda: self.last)


class _LastBuilt:
    def __init__(self, last: Callable[[], Given]) -> None:
        self._last = last

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        **how: Given,
    ) -> EngineRun:
        run: EngineRun = self._last().run(messages, stream, **how)
        return run

    def resume(self, *given: Given, **how: Given) -> EngineRun:
        run: EngineRun = self._last().resume(*given, **how)
        return run


def _counted_on() -> Sequence[Patch]:
    """Count the iterations of an agent through all its runs."""
    before: dict[int, tuple[Given, Given]] = {}

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            machine = self.machine
            if id(machine) in before:
                self.iterations = before[id(machine)][1].iterations
            before[id(machine)] = machine, self
            return right(self)

        return start

    return (patch("loop.start", replaced),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "siblings-cancelled",
        "A call that fails cancels its siblings.",
        "CONC-003",
        _cancelling(where_sequential=False),
    ),
    wrong(
        "names-of-all-agents",
        "A handler's name is numbered if any earlier agent had one of that name.",
        "CONC-009",
        PatchedDoor("names-of-all-agents", _names_of_all_agents),
    ),
    wrong(
        "last-built-agent-runs",
        "Every agent runs with what the one is made of that was built last.",
        "CONC-010",
        _LastBuiltEngine,
    ),
    wrong(
        "iterations-counted-on",
        "The iterations of an agent are counted through all its runs.",
        "CONC-008",
        PatchedDoor("iterations-counted-on", _counted_on),
    ),
    wrong(
        "options-of-last-made-run",
        "A run has the options of the run that was made last.",
        "CONC-011",
        PatchedDoor("options-of-last-made-run", _options_of_last),
    ),
)
