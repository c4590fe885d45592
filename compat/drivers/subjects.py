"""Subjects in a driver's language: a user's own extensions, in the agents of a world.

    engine = SubjectEngine(name, KeptDriver(command), LoadedFrom("old.go", "NewAudit"))

The driver loads them (``subject``) before its first agent, and calls what it loaded for
each agent that is built with ``"subject": true``: their structs come after those of the
world, their handlers before its handlers, as those of a subject in Python do. What they
do outside of the agent they tell by ``effect``; ``now`` and ``new_id`` are the world's.
How often each of their hooks is entered comes as ``entered``, what their own tools do
as ``tool_run``. One module for all languages: docs/protocol.md, Subjects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from compat.drivers.agents import Served
from compat.drivers.connection import DriverProcess, KeptDriver, Params
from compat.drivers.remote import RemoteAgent, RemoteEngine
from compat.drivers.saying import (
    EngineFailedError,
    SubjectMistakeError,
    name_of_subjects,
)
from compat.drivers.state import AgentState
from compat.engines.capabilities import refuse_undeclared
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.testing.doors import EngineAgent
from refengine.testing.tool_runs import calling
from refengine.testing.trace import ObservationKind
from refengine.testing.world import EffectError, World

MISTAKES: Final = frozenset(("missing-name", "not-callable", "wrong-result", "import"))
"""Kinds of errors by which a driver says that there is no such subject."""
OBSERVED: Final = frozenset(
    ("tool_start", "tool_end", "tool_error", "tool_chunk", "stream_close")
)
"""What a driver may tell of a run of a subject's own tool."""


@dataclass(frozen=True, slots=True)
class LoadedFrom:
    """Where a driver finds a subject: its file or folder, and what it is called."""

    path: str
    name: str


class SubjectWatch:
    """What one session of a subject did that no observation tells: hooks, and names.

    ``hooks`` are entered so often; by ``names`` errors call what its author named.
    ``seen`` is what a setup of the side has changed, and which spans it has begun.
    """

    def __init__(self) -> None:
        self.hooks: Counter[str] = Counter()
        self.names: set[str] = set()
        self.seen: Mapping[str, int] = {}
        self.world: World | None = None
        self.built = False
        self.failed: str | None = None
        self.mistake: SubjectMistakeError | None = None

    def has(self, told: Mapping[str, Any]) -> None:
        """Take what a driver says of an agent that it has built."""
        self.built = True
        self.hooks.update(dict.fromkeys(told["hooks"], 0))
        self.names.update(map(name_of_subjects, told.get("names", ())))
        if self.world is not None:
            self.world.model.own_tools = told.get("tools", ())

    def entered(self, params: Params) -> None:
        """Count a hook that is entered."""
        self.hooks[params["hook"]] += 1

    def observed(self, params: Params) -> None:
        """Take what a setup of the side has done so far."""
        self.seen = {each: params[each] for each in ("changed", "spans")}


class SubjectEngine(RemoteEngine):
    """An engine behind a driver that has a user's own extensions."""

    def __init__(
        self,
        name: str,
        driver: KeptDriver,
        subject: LoadedFrom,
    ) -> None:
        self._subject = subject
        self._loaded: DriverProcess | None = None
        super().__init__(name, driver)
        self.watch = SubjectWatch()

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent with the subject in it; raises SubjectMistakeError, too."""
        del on_notice
        refuse_undeclared(self.name, self.capabilities, config)
        driver = self._driver.connected()
        agent = SubjectAgent(driver, config, self.watch)
        try:
            if self._loaded is not driver:
                path, name = self._subject.path, self._subject.name
                await agent.ask("subject", path=path, name=name)
                self._loaded = driver
            await agent.build()
        except EngineFailedError as error:
            self.watch.failed = error.said
            if error.kind in MISTAKES:
                self.watch.mistake = SubjectMistakeError(error.kind, error.said)
                raise self.watch.mistake from None
            raise
        return agent.door()


class SubjectAgent(RemoteAgent):
    """One agent of a driver, with the subject in it."""

    def __init__(
        self, driver: DriverProcess, config: ChatModelAgentConfig, watch: SubjectWatch
    ) -> None:
        super().__init__(driver, config)
        self._watch = watch
        self._state.serves(**SubjectCalls(self._state, watch).functions)
        self._state.takes(entered=watch.entered, observed=watch.observed)

    async def build(self) -> None:
        """Build it in the driver, and take what the subject in it has."""
        described = {**self._described(), "subject": True}
        said = await self.ask("build", config=described)
        self._watch.has(said)


class SubjectCalls:
    """What a subject in one agent calls; it has a state where runs are pushed."""

    def __init__(self, agent: AgentState | None, watch: SubjectWatch) -> None:
        self._agent = agent
        self._watch = watch
        self.functions: Mapping[str, Served] = {
            "effect": self._effect,
            "now": self._now,
            "new_id": self._new_id,
            "tool_run": self._tool_run,
        }

    @property
    def _world(self) -> World:
        if self._watch.world is None:
            raise AssertionError
        return self._watch.world

    async def _caught_up(self, params: Params) -> None:
        """Wait for the consumer, so that what is put down has its place."""
        if params.get("ctx") and self._agent is not None:
            _, run = self._agent.place_of(params)
            await run.caught_up(within_answer=True)

    def _context(self, params: Params) -> str:
        if self._agent is None:
            return "-"
        ctx, _ = self._agent.place_of(params)
        return str(ctx.get("h", "-"))

    async def _effect(self, params: Params) -> object:
        await self._caught_up(params)
        world, name = self._world, params["name"]
        if "wrong" in params:
            why = TypeError(params["wrong"])
            world.misused = EffectError(name, None, why)
            raise world.misused
        with calling(params.get("call_id") or None):
            world.effect(name, params.get("data"))
        return {}

    async def _now(self, params: Params) -> object:
        del params
        return {"seconds": self._world.now()}

    async def _new_id(self, params: Params) -> object:
        del params
        return {"id": self._world.new_id()}

    async def _tool_run(self, params: Params) -> object:
        kind, data = params["kind"], dict(params["data"])
        if kind not in OBSERVED:
            raise ValueError(kind)
        await self._caught_up(params)
        if kind == "tool_start":
            data |= {"options": {}, "ctx": self._context(params)}
        call_id = params.get("call_id") or None
        recorder = self._world.recorder
        recorder.add(cast("ObservationKind", kind), data, call_id)
        return {}
