"""Playing a world that is cut and resumed; only what relations look at is recorded.

As ``refengine.testing.session`` plays one, but a run that is interrupted is answered
and goes on. What a tool or a hook does again is not recorded: that is what the law
leaves out.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from compat.adapters import adapt
from compat.engines.adapted import with_handlers
from refengine.agent import Agent, ChatModelAgentConfig, build_agent
from refengine.interrupts import Pending
from refengine.messages import Json, Message
from refengine.resume.checkpoint import Keeper
from refengine.run import Run, RunResult
from refengine.testing.notation import parse_message
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.trace import Trace
from tests.cuts.points import (
    CutError,
    Cutter,
    How,
    PlayedWithCuts,
    RelationRecorder,
    failed,
    told,
)
from tests.cuts.world import CutWorld

_MOST: Final = 1_000
"""So often is one run resumed, before it is thought to have no end."""


class CutsPlayer:
    """One world, played with or without cuts."""

    def __init__(
        self,
        scenario: Scenario,
        how: How,
        cutter: Cutter,
        keeper: Keeper | None = None,
        prefix: str = "",
    ) -> None:
        self._scenario = scenario
        self._how = how
        self._cutter = cutter
        self._keeper = keeper
        self._prefix = prefix
        self.recorder = RelationRecorder()
        self.worlds = [
            CutWorld(spec, scenario, self.recorder, cutter)
            for spec in scenario.all_agents
        ]
        self._agents: list[Agent] = []
        self._left: dict[int, Sequence[Message]] = {}
        self.played = PlayedWithCuts(Trace())

    async def play(self) -> PlayedWithCuts:
        """Build, play all runs and resume those that are interrupted."""
        if await self.build():
            await self.from_run(1)
        return self.over()

    async def from_run(self, first: int) -> None:
        """Play the runs from that one on, each to its end."""
        for number in range(first, len(self._scenario.runs) + 1):
            await self.finish(number, await self.start(number))

    def over(self) -> PlayedWithCuts:
        """Return what the world came to."""
        self.played.trace = self.recorder.trace()
        return self.played

    async def build(self) -> bool:
        """Build the agents; False if that fails, which is data."""
        for world in self.worlds:
            config = self._arranged(world.dressed())
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of both lists, in most worlds
                    agent = await build_agent(config, self._how.profile)
            except Exception as error:  # noqa: BLE001  # what building raised is data
                self.recorder.add("build_error", failed(error))
                return False
            self._agents.append(agent)
        return True

    def _arranged(self, config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        config = replace(config, checkpoints=self._keeper)
        if self._how.way == "native":
            return config
        return with_handlers(config, adapt, self._how.profile)

    async def start(self, number: int) -> RunResult:
        """Play one run to its end, or to where it is interrupted."""
        spec = self.begin(number)
        earlier = self._left.get(spec.agent, ()) if spec.continues else ()
        given = [*earlier, *map(parse_message, spec.input)]
        before = tuple(given)
        self.recorder.add("run_start", {"continues": True} if spec.continues else {})
        key = None if self._keeper is None else self.key(number)
        options = spec.options or None
        run = self._agents[spec.agent].run(
            given, spec.streaming, options=options, checkpoint=key
        )
        outcome = await self.listen(run)
        if tuple(given) != before:
            self.recorder.add("caller_object_changed", {"path": "messages"})
        return outcome

    def begin(self, number: int) -> RunSpec:
        """Begin with a run: from here on all observations are its own."""
        spec = self._scenario.runs[number - 1]
        self.recorder.run = number
        self.worlds[spec.agent].run += 1
        return spec

    async def finish(self, number: int, outcome: RunResult) -> None:
        """Resume a run as often as it asks, and record how it ended."""
        agent = self._scenario.runs[number - 1].agent
        while outcome.status == "interrupted":
            outcome = await self.go_on(number, outcome.interrupts)
        if self._cutter.asked:
            self.played.lost.append(number)
        self._cutter.over()
        self._left[agent] = outcome.messages.without(outcome.first)
        data = {
            "status": outcome.status,
            "answer": outcome.answer,
            "messages": outcome.messages,
        }
        self.recorder.add("run_end", data)

    async def go_on(self, number: int, pending: Sequence[Pending]) -> RunResult:
        """Answer what a run asks, and play it to where it asks again or ends."""
        spec = self._scenario.runs[number - 1]
        self.played.resumed += 1
        if self.played.resumed > _MOST:
            raise CutError(f"run {number} asks again and again")
        answers = self._answers(pending)
        agent, options = self._agents[spec.agent], spec.options or None
        return await self.listen(
            agent.resume(self.key(number), answers, options=options)
        )

    def key(self, number: int) -> str:
        """Return the key under which that run is kept."""
        return f"{self._prefix}run {number}"

    async def listen(self, run: Run) -> RunResult:
        """Put down what the consumer gets; raises CutError for events that lie."""
        asked: Sequence[Pending] = ()
        async with run:
            async for event in run:
                if asked:
                    raise CutError(f"{event.kind} after the event of an interrupt")
                if event.kind == "interrupt":
                    asked = event.interrupts
                else:
                    seen = await told(event)
                    self.recorder.add("event", seen, event.call_id)
        outcome = cast("RunResult", run.outcome)
        if tuple(asked) != outcome.interrupts:
            raise CutError(f"the event asks {asked}, the result {outcome.interrupts}")
        if bool(asked) != (outcome.status == "interrupted"):
            raise CutError(f"status {outcome.status}, but the run asks {asked}")
        return outcome

    def _answers(self, pending: Sequence[Pending]) -> Mapping[str, Json] | None:
        """Answer some of what is asked, or all."""
        how = self._how.answering
        asked = {
            str(each.address): int(cast("Any", each.payload)["cut"]) for each in pending
        }
        if len(asked) != len(pending):
            raise CutError(f"two interrupts have one address: {list(asked)}")
        if not asked:
            raise CutError("an interrupted run asks nothing")
        if how == "none":
            self._cutter.answers.update(dict.fromkeys(asked.values()))
            return None
        if how in {"first", "last"}:
            asked = dict([list(asked.items())[0 if how == "first" else -1]])
        told: dict[str, Json] = {
            each: {"to": cut, "of": [1, 2.5, None, "ü"]} for each, cut in asked.items()
        }
        self._cutter.answers.update({asked[each]: said for each, said in told.items()})
        return told
