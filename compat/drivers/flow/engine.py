"""The door to a Flow engine behind a driver, whatever language it is written in.

    engine = RemoteFlowEngine("mine", KeptDriver(lambda: ["/path/to/driver"]))

Models, tools, callbacks and plugins are those of the world, which is called back;
agents, runners and services are the engine's own.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.dialects.flow.values import as_json, from_json, plain
from compat.drivers.agents import Held
from compat.drivers.connection import DriverProcess, KeptDriver
from compat.drivers.flow.serving import FlowCalls
from compat.drivers.saying import EngineFailedError
from compat.engines.flow.doors import KeptSession
from compat.engines.flow.scenario import FlowAgentSpec
from compat.engines.flow.world import FlowWorld, FlowWorldTool
from refengine.messages import Json


class RemoteFlowEngine:
    """A Flow engine in another process, which says itself what it is."""

    def __init__(
        self, name: str, driver: KeptDriver, profile: str | None = None
    ) -> None:
        """Take a driver; raises UnknownProfileError.

        It is judged under the profile that it tells, unless another one is given.
        """
        self.name = name
        self._driver = driver
        about = driver.about
        self.version: str = about["version"]
        self.profile: FlowProfile = flow_profile(profile or about["profile"])
        self.capabilities = frozenset[str](about["capabilities"])

    def open(self, world: FlowWorld) -> RemoteFlowWorld:
        """Open a world; when it is gone, the driver may forget it."""
        driver = self._driver.connected()
        opened = RemoteFlowWorld(driver, world)
        weakref.finalize(opened, driver.remove, opened.number)
        return opened


class RemoteFlowWorld:
    """A world that a driver has opened under a number."""

    def __init__(self, driver: DriverProcess, world: FlowWorld) -> None:
        self._world = world
        self.calls = FlowCalls(driver)
        self.number = self.calls.number

    async def create(
        self,
        user_id: str,
        session_id: str,
        state: Mapping[str, Json],
        artifacts: Mapping[str, str],
    ) -> None:
        """Make a session with that state and one version of each file."""
        self.calls.ask(
            "session",
            do="create",
            user=user_id,
            session=session_id,
            state=dict(state),
            artifacts=dict(artifacts),
        )

    def runner(self) -> RemoteFlowRunner:
        """Build agents, plugins and a runner; raises what building them raises."""
        config = described(self._world, self.calls.held)
        self.calls.ask("build", dialect="flow", config=config)
        return RemoteFlowRunner(self)

    async def kept(self, user_id: str, session_id: str) -> KeptSession:
        """Load a session afresh."""
        found: Mapping[str, Any] = self.calls.ask(
            "session", do="load", user=user_id, session=session_id
        )
        return KeptSession(
            tuple(from_json(Event, each) for each in found.get("events", ())),
            found.get("state", {}),
            {name: tuple(x) for name, x in found.get("artifacts", {}).items()},
        )


class RemoteFlowRunner:
    """The runner that the driver of a world has built last."""

    def __init__(self, opened: RemoteFlowWorld) -> None:
        self._opened = opened  # the driver may forget a world that nobody holds

    async def run(
        self, user_id: str, session_id: str, content: Content, *, stream: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield the events that a message leads to.

        An engine may go on behind an error, as long as its consumer does: the first one
        is raised when there are no more events.
        """
        asked = {
            "user": user_id,
            "session": session_id,
            "content": plain(as_json(content)),
            "stream": stream,
        }
        async with aclosing(pulled_events(self._opened.calls, asked)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Plugins of a world have nothing to close."""


async def pulled_events(
    calls: FlowCalls, asked: Mapping[str, object]
) -> AsyncGenerator[Event, None]:
    """Begin a run, and yield its events as they are pulled.

    Raises the first error when there are no more events: an engine may go on behind it.
    """
    with calls.attached():
        run = await calls.call("run", **asked)
        failed: BaseException | None = None
        ended = False

        async def pulled() -> Mapping[str, Any]:
            try:
                piece: Mapping[str, Any] = await calls.call("pull", **run)
            except EngineFailedError:  # it may crash behind an error: that is first
                if failed is None:
                    raise
                return {"end": True}
            return piece

        try:
            while not (piece := await pulled()).get("end"):
                if "error" in piece:
                    failed = failed or calls.error_read(piece["error"])
                else:
                    yield from_json(Event, piece["event"])
            ended = True
        finally:
            if not ended:
                await calls.left(run)
        if failed is not None:
            raise failed


OF_A_MODEL: Final = (
    "instruction",
    "provided_instruction",
    "global_instruction",
    "include_contents",
    "temperature",
    "disallow_transfer_to_parent",
    "disallow_transfer_to_peers",
    "input_schema",
    "output_schema",
    "output_key",
)
"""The fields of an agent that a driver is told as they are, if they are not None."""


def described(world: FlowWorld, held: Held) -> Mapping[str, object]:
    """Return what a runner is built of."""
    return {
        "agent": _agent(world, world.scenario.agent, held),
        "plugins": [
            {
                "name": plugin.name,
                "hooks": {
                    hook: held.number(each) for hook, each in plugin.hooks.items()
                },
            }
            for plugin in world.plugins()
        ],
        "artifact_service": world.scenario.artifact_service,
    }


def _agent(world: FlowWorld, spec: FlowAgentSpec, held: Held) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": spec.name,
        "kind": spec.kind,
        "description": spec.description,
        "sub_agents": [_agent(world, each, held) for each in spec.sub_agents],
        "callbacks": {
            hook: [held.number(each) for each in world.callbacks(spec, hook)]
            for hook in spec.callbacks
        },
    }
    if spec.kind == "loop":
        told["max_iterations"] = spec.max_iterations
    if spec.kind != "llm":
        return told
    told["model"] = {"model": held.number(world.model(spec)), "name": spec.model}
    told["tools"] = [_tool(world, each, held) for each in world.tools(spec)]
    said = {name: getattr(spec, name) for name in OF_A_MODEL}
    return told | {name: each for name, each in said.items() if each is not None}


def _tool(world: FlowWorld, tool: FlowWorldTool, held: Held) -> dict[str, Any]:
    spec = tool.spec
    if spec.agent is not None:
        inner = _agent(world, spec.agent, held)
        return {"agent": inner, "skip_summarization": spec.skip_summarization}
    told: dict[str, Any] = {
        "tool": held.number(tool),
        "name": spec.name,
        "description": spec.description,
        "long_running": spec.long_running,
        "needs_confirmation": spec.needs_confirmation,
    }
    if spec.parameters is not None:
        told["parameters"] = spec.parameters
    return told
