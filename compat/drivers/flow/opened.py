"""A world on a Flow engine behind a driver: its services, its runners and their runs.

A run is a stream of events that is pulled one by one, so an engine is never ahead of
its consumer, and is told of one who leaves where he left.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.dialects.flow.values import as_json, from_json, plain
from compat.drivers.connection import DriverProcess
from compat.drivers.flow.describing import described
from compat.drivers.flow.serving import FlowCalls
from compat.drivers.saying import EngineFailedError
from compat.engines.flow.doors import KeptSession
from compat.engines.flow.world import FlowWorld
from refengine.messages import Json


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
