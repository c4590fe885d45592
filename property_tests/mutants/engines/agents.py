"""Engines in which one run, agent or handler knows what another one did.

An edit has no place to keep that: what the engine makes for a run ends with it, and
what it compiles for an agent is frozen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    patch,
    wrong,
)
from refengine.agent import ChatModelAgentConfig
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.testing.doors import EngineAgent, EngineRun, ReferenceEngine
from refengine.tools import NO_OPTIONS, ToolMeta, as_meta


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


def _shared_locals() -> Sequence[Patch]:
    """Start a run of an agent with the run-local values of the one before it."""
    before: dict[int, tuple[Given, Given]] = {}

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            machine = self.machine
            _, values = before.get(id(machine), (machine, {}))
            self.locals.update(values)
            before[id(machine)] = machine, self.locals
            return right(self)

        return start

    return (patch("loop.start", replaced),)


def _failed_on() -> Sequence[Patch]:
    """Count on from a run that failed."""
    failed: dict[int, tuple[Given, int]] = {}

    def starting(right: Right) -> Right:
        def start(self: Given) -> Given:
            _, at = failed.pop(id(self.machine), (None, 0))
            self.iterations = self.iterations or at
            return right(self)

        return start

    def leaving(right: Right) -> Right:
        async def leave(self: Given) -> None:
            await right(self)
            if self.status == "error":
                failed[id(self.machine)] = self.machine, self.iterations

        return leave

    return patch("loop.start", starting), patch("loop.leave", leaving)


def _second_agent() -> Sequence[Patch]:
    """Leave the last handler out of the second agent that is built."""
    built: list[Given] = []

    def replaced(right: Right) -> Right:
        def collect(structs: Given, handlers: Sequence[Given], *more: Given) -> Given:
            found = right(structs, handlers, *more)
            built.append(found)
            if len(built) < 2:
                return found
            return replace(found, handlers=found.handlers[:-1])

        return collect

    return (patch("extensions.collect", replaced),)


def _into_the_callers_list() -> Sequence[Patch]:
    """Write what before-hooks leave into the list that the caller gave."""
    given: list[Given] = []

    def running(right: Right) -> Right:
        def run(self: Given, messages: Given, *more: Given, **how: Given) -> Given:
            given[:] = [messages]
            return right(self, messages, *more, **how)

        return run

    def writing(right: Right) -> Right:
        async def before_model(self: Given) -> Given:
            before = self.history
            ctx = await right(self)
            if self.history is not before and isinstance(given[0], list):
                given[0][:] = list(self.history.without(self.first))
            return ctx

        return before_model

    return patch("agent.run", running), patch("loop.before_model", writing)


def _flags_outlive() -> Sequence[Patch]:
    gone: dict[str, bool | None] = {}

    def planning(right: Right) -> Right:
        async def plan(self: Given, *given: Given) -> Given:
            gone.clear()
            return await right(self, *given)

        return plan

    def folding(right: Right) -> Right:
        def update(self: Given, left: Sequence[Given]) -> Given:
            before = {each.name: each.return_directly for each in self.metas}
            metas, names = right(self, [_with_flag(each, gone) for each in left])
            gone.update({name: before[name] for name in names})
            return metas, names

        return update

    return patch("planner.plan", planning), patch("planner.fold", folding)


def _with_flag(tool: Given, flags: Mapping[str, bool | None]) -> ToolMeta:
    meta = as_meta(tool)
    if meta.return_directly is None and meta.name in flags:
        return replace(meta, return_directly=flags[meta.name])
    return meta


MUTANTS: Final[tuple[Mutant, ...]] = (
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
    wrong(
        "run-locals-shared",
        "A run finds the run-local values of the runs before it.",
        "CTX-014",
        PatchedDoor("run-locals-shared", _shared_locals),
    ),
    wrong(
        "failed-run-counted-on",
        "A run after one that failed begins with the iterations that that one had.",
        "CONC-008 RUN-016",
        PatchedDoor("failed-run-counted-on", _failed_on),
    ),
    wrong(
        "second-agent-lacks-a-handler",
        "The second agent that an engine builds lacks its last handler.",
        "EXT-002",
        PatchedDoor("second-agent-lacks-a-handler", _second_agent),
    ),
    wrong(
        "callers-list-rewritten",
        "What before-model hooks leave is written into the caller's list.",
        "MSG-016",
        PatchedDoor("callers-list-rewritten", _into_the_callers_list),
    ),
    wrong(
        "flag-outlives-its-tool",
        "A tool that is added again has the flag with which it was removed.",
        "RD-007",
        PatchedDoor("flag-outlives-its-tool", _flags_outlive),
    ),
)
