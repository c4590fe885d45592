"""A world on google-adk: its services in memory, and runners over them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.platform.time import set_time_provider
from google.adk.platform.uuid import set_id_provider
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.engines.flow.adk.values import adk_content, flow_event
from compat.engines.flow.adk.wiring import ScriptedAdkPlugin, adk_agent
from compat.engines.flow.doors import KeptSession
from compat.engines.flow.world import FlowWorld
from refengine.messages import Json
from refengine.testing.adk.contents import files_of

APP: Final = "app"


class AdkWorld:
    """A world on google-adk; ids and times are the world's."""

    def __init__(self, world: FlowWorld) -> None:
        self._world = world
        self._sessions = InMemorySessionService()
        self._artifacts = InMemoryArtifactService()
        set_id_provider(world.new_id)
        set_time_provider(world.clock)

    async def create(
        self,
        user_id: str,
        session_id: str,
        state: Mapping[str, Json],
        artifacts: Mapping[str, str],
    ) -> None:
        """Make a session with that state and one version of each file."""
        place = _place(user_id, session_id)
        await self._sessions.create_session(**place, state=dict(state))
        for name, text in artifacts.items():
            part = types.Part(text=text)
            await self._artifacts.save_artifact(**place, filename=name, artifact=part)

    def runner(self) -> AdkRunner:
        """Build agents, plugins and a runner; raises what building them raises."""
        world = self._world
        keeps = world.scenario.artifact_service
        app = App(
            name=APP,
            root_agent=adk_agent(world, world.scenario.agent),
            plugins=[ScriptedAdkPlugin(each) for each in world.plugins()],
        )
        return AdkRunner(
            Runner(
                app=app,
                session_service=self._sessions,
                artifact_service=self._artifacts if keeps else None,
            )
        )

    async def kept(self, user_id: str, session_id: str) -> KeptSession:
        """Load a session afresh."""
        place = _place(user_id, session_id)
        found = await self._sessions.get_session(**place)
        if found is None:
            return KeptSession()
        files = {
            name: tuple((each.text or "") if each else "" for each in parts)
            for name, parts in (await files_of(self._artifacts, place)).items()
        }
        return KeptSession(tuple(map(flow_event, found.events)), found.state, files)


def _place(user_id: str, session_id: str) -> dict[str, Any]:
    return {"app_name": APP, "user_id": user_id, "session_id": session_id}


class AdkRunner:
    """A runner of google-adk, whose events are those of the dialect."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def run(
        self, user_id: str, session_id: str, content: Content, *, stream: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield the events that a message leads to."""
        how = {"streaming_mode": "sse"} if stream else {}
        events = self._runner.run_async(
            user_id=user_id,
            session_id=session_id,
            new_message=adk_content(content),
            run_config=RunConfig.model_validate(how),
        )
        async with aclosing(events) as told:
            async for event in told:
                yield flow_event(event)

    async def close(self) -> None:
        """Have the plugins close."""
        await self._runner.close()
