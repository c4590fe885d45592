"""Agents of a user's own in a Flow engine behind a driver: as agents of ADK are played.

The driver's language has a function that is given model, tools and instruction of the
world and returns an agent, with the plugins of its runner. Sessions and files are the
engine's own; what is seen is what the world sees: requests, tools, events, effects.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from compat.dialects.flow.content import Part
from compat.dialects.flow.events import Event
from compat.dialects.flow.profile import flow_profile
from compat.dialects.flow.run_errors import ModelCallsExceededError
from compat.dialects.flow.values import as_json, from_json, plain
from compat.dialects.playing.flow_world import (
    FlowFace,
    FlowScriptedTool,
    FlowWorldModel,
    artifact,
    as_flow,
    content_of,
    seen_event,
    user_content,
)
from compat.drivers.connection import DriverProcess, KeptDriver, Params
from compat.drivers.flow.engine import pulled_events
from compat.drivers.flow.serving import (
    FlowCalls,
    piece_told,
    request_read,
    said_by_flow_engine,
)
from compat.drivers.saying import EngineFailedError, SubjectMistakeError, of_subject
from compat.drivers.subjects import MISTAKES, LoadedFrom, SubjectCalls, SubjectWatch
from refengine.messages import Json, Message
from refengine.testing.clock import run_on
from refengine.testing.flows.events import USER, FlowEvent, StoredSession, by_scope
from refengine.testing.flows.session import FlowPlay, FlowRequest
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import Scenario
from refengine.testing.tool_runs import POINT
from refengine.testing.trace import Trace
from refengine.testing.world import World

NAME: Final = "world"
"""What the agent is called that a user's function is told of the world by."""


class FlowSubjectEngine:
    """A Flow engine behind a driver that has a user's own agents."""

    def __init__(self, name: str, driver: KeptDriver, subject: LoadedFrom) -> None:
        self.name = name
        self.watch = SubjectWatch()
        self.profile = flow_profile(driver.about["profile"])
        self.capabilities = frozenset[str](driver.about["capabilities"])
        self._driver = driver
        self._subject = subject
        self._loaded: DriverProcess | None = None

    def play(self, scenario: Scenario) -> Trace:
        """Play one session; raises EffectError, or that the driver is over."""
        recorder = Recorder()
        self.watch.world = world = World(scenario.all_agents[0], scenario, recorder)
        run_on(world.clock, self._played(scenario, world))
        return recorder.trace()

    async def _played(self, scenario: Scenario, world: World) -> None:
        try:
            stack = await self._built(world)
        except EngineFailedError as error:
            self.watch.failed = error.said
            if error.kind in MISTAKES:
                self.watch.mistake = SubjectMistakeError(error.kind, error.said)
            world.recorder.add("build_error", {"error": error.said})
            return
        await FlowPlay(scenario, world, stack).play_elsewhere()

    async def _built(self, world: World) -> RemoteFlowStack:
        driver = self._driver.connected()
        stack = RemoteFlowStack(driver, world, self)
        weakref.finalize(stack, driver.remove, stack.calls.number)
        if self._loaded is not driver:
            path, name = self._subject.path, self._subject.name
            with stack.calls.attached():
                await stack.calls.call("subject", path=path, name=name)
            self._loaded = driver
        await stack.build()
        return stack


LISTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Available tools: ": r"[\w., -]+",
        "unexpected additional properties [": r"[^\]]+",
    }
)
"""By what stands before them: names that adk-go, or what it has of others, lists in the
order of a map. Tools that exist, and arguments that a tool does not take."""


def steady(told: object) -> object:
    """Return JSON with what a Go engine lists by luck in one order."""
    if isinstance(told, str):
        for before, names in LISTED.items():
            if before in told:
                told = re.sub(f"(?<={re.escape(before)}){names}", _sorted, told)
        return told
    if is_mapping(told):
        return {key: steady(each) for key, each in told.items()}
    return [steady(each) for each in told] if is_list(told) else told


def _sorted(found: re.Match[str]) -> str:
    between = ", " if ", " in found[0] else " "
    return between.join(sorted(found[0].split(between)))


class SubjectFlowCalls(FlowCalls):
    """What the driver of a subject's agents calls: the world's, and of the subject."""

    def __init__(self, driver: DriverProcess, watch: SubjectWatch) -> None:
        super().__init__(driver)
        self.serves(**SubjectCalls(None, watch).functions)
        self.takes(entered=watch.entered)

    def raised(self, message: str, data: Params) -> Exception:
        """Return an exception for what the subject or the engine says."""
        if "place" not in data:
            return said_by_flow_engine(message, data)
        place = data["place"]
        error = of_subject(message, data.get("name") or "error", place)
        setattr(error, POINT, place.get("hook", "tool"))
        return error

    async def call(self, method: str, **params: object) -> Mapping[str, Any]:
        """Return what a function of the driver returns, names in one order."""
        return cast("Mapping[str, Any]", steady(await super().call(method, **params)))

    def ask(self, method: str, **params: object) -> Mapping[str, Any]:
        """Return the same of a function that calls nobody."""
        return cast("Mapping[str, Any]", steady(super().ask(method, **params)))

    async def _model_called(self, params: Params) -> object:
        model: FlowWorldModel = self.held.get(params["model"])
        asked = request_read(cast("Any", steady(params["request"])))
        answers = model.generate(asked, stream=params["stream"])
        return {"stream": self.held.offer(cast("Any", answers), piece_told)}

    async def _tool_called(self, params: Params) -> object:
        tool: FlowScriptedTool = self.held.get(params["tool"])
        ctx: Any = self._context(params)
        return {"result": plain(await tool(ctx, params.get("args") or {}))}


class RemoteFlowStack:
    """Agents and services of a subject behind a driver, ready to be played."""

    def __init__(
        self, driver: DriverProcess, world: World, engine: FlowSubjectEngine
    ) -> None:
        self.calls = SubjectFlowCalls(driver, engine.watch)
        self._world = world
        self._engine = engine
        self._face: FlowFace = as_flow(world)

    async def build(self) -> None:
        """Have the subject's function called, and a runner made of what it returns."""
        held, face = self.calls.held, self._face
        tools = [
            {
                "tool": held.number(each.run),
                "name": each.name,
                "description": each.description,
                "parameters": plain(cast("Any", each.parameters or {})),
            }
            for each in face.tools
        ]
        agent: Mapping[str, object] = {
            "name": NAME,
            "kind": "llm",
            "description": "",
            "sub_agents": [],
            "callbacks": {},
            "model": {"model": held.number(face.model), "name": face.model.name},
            "tools": tools,
            "instruction": face.instruction,
        }
        config: dict[str, object] = {
            "agent": agent,
            "plugins": [],
            "artifact_service": True,
            "subject": True,
        }
        with self.calls.attached():
            said = await self.calls.call("build", dialect="flow", config=config)
        self._engine.watch.has(said)

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran."""
        return dict(self._engine.watch.hooks)

    @property
    def answered(self) -> tuple[type[BaseException], ...]:
        """What says something of what a subject did: calls without an end."""
        return (ModelCallsExceededError,)

    async def begin(self, session: str, state: Mapping[str, Json]) -> None:
        """Create a session with this state."""
        self.calls.ask(
            "session", do="create", user=USER, session=session, state=dict(state)
        )

    async def remember(self, session: str, message: Message) -> None:
        """Put a message into a session that was said before it was played."""
        author = "" if message.role == "assistant" else USER
        event = {"author": author, "content": plain(as_json(content_of(message)))}
        self.calls.ask("session", do="append", user=USER, session=session, event=event)

    async def run(self, request: FlowRequest) -> AsyncIterator[FlowEvent]:
        """Answer a message."""
        self._face.model.most = self._world.model.calls + request.calls
        asked = {
            "user": USER,
            "session": request.session,
            "content": plain(as_json(user_content(request.said))),
            "stream": request.streaming,
            "state": dict(request.state),
        }
        async for event in pulled_events(self.calls, asked):
            yield seen_event(event, self._engine.profile)

    async def stored(self, session: str) -> StoredSession:
        """Return what is kept of a session; nothing if there is none."""
        try:
            found: Mapping[str, Any] = self.calls.ask(
                "session", do="load", user=USER, session=session
            )
        except EngineFailedError:
            return StoredSession()
        profile = self._engine.profile
        events = [from_json(Event, each) for each in found.get("events", ())]
        files: dict[str, Json] = {
            name: [artifact(Part(text=each)) for each in texts]
            for name, texts in sorted(found.get("artifacts", {}).items())
        }
        kept = [seen_event(each, profile) for each in events]
        return StoredSession(kept, by_scope(found.get("state", {})), files)

    async def close(self) -> None:
        """Nothing: the driver forgets the world with its number."""
