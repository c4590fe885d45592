"""Playing a world of the callbacks dialect on a door: its sessions, one by one.

    trace = play_callbacks(scenario, CallbacksV2("callbacks-v2"))

A scenario that compares is played twice from fresh; ``build`` stands before each.
"""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from compat.adapters.clients import client_v2_of, v1_callbacks
from compat.dialects.callbacks import Client
from compat.engines.callbacks.doors import CallbacksEngine, OpenedSessions
from compat.engines.callbacks.scenario import (
    CallbacksScenario,
    HappensSpec,
    SessionTurnSpec,
    Version,
)
from compat.engines.callbacks.world import (
    LISTENER,
    CallbacksWorld,
    seen_data,
    seen_said,
    seen_state,
)
from refengine.testing.clock import run
from refengine.testing.trace import Observation, Trace

VERSIONS: Final[Mapping[str, Sequence[tuple[Version, bool]]]] = MappingProxyType(
    {
        "": (("own", False),),
        "versions": (("v1", False), ("v2", False)),
        "stores": (("own", False), ("own", True)),
    }
)
"""What plays a scenario, and whether over a file, by what it compares."""


def play_callbacks(scenario: CallbacksScenario, engine: CallbacksEngine) -> Trace:
    """Play a scenario on virtual time, and return all that was seen."""
    found: list[Observation] = []
    for version, file in VERSIONS[scenario.compares]:
        with tempfile.TemporaryDirectory(prefix="refengine-") as folder:
            kept = file or scenario.file
            path = Path(folder) / "sessions.db" if kept else None
            world = CallbacksWorld(scenario, version, path)
            trace = run(SessionsPlayer(world, engine).play())
        shift = max((each.run for each in found), default=0)
        for each in trace:
            number = each.run + shift if each.run else 0
            found.append(replace(each, run=number, seq=len(found)))
    return Trace(found)


class SessionsPlayer:
    """One play of a scenario, on one engine."""

    def __init__(self, world: CallbacksWorld, engine: CallbacksEngine) -> None:
        self._world, self._engine = world, engine
        self._note = world.recorder.note_now
        self._opened: OpenedSessions
        self._clients: dict[str, Client] = {
            each.name: world.client(each) for each in world.scenario.clients
        }

    async def play(self) -> Trace:
        """Play the sessions, and return all that was seen."""
        recorder = self._world.recorder
        recorder.time_run()
        self._note("build", {"version": self._world.version})
        self._open()
        for number, turn in enumerate(self._world.scenario.turns, 1):
            recorder.run = number
            for each in turn.before:
                self._happens(each)
            await self._turn(turn)
            kept = seen_state(await self._opened.stored(turn.session))
            self._note("checkpoint", {"session": turn.session, "state": kept})
        return recorder.trace()

    def _open(self) -> None:
        self._opened = self._engine.open(self._world)
        self._world.emit, self._world.look = self._opened.emit, self._opened.stored

    def _happens(self, each: HappensSpec) -> None:
        told: dict[str, object] = {"do": each.do, "client": each.client}
        try:
            self._do(each)
        except Exception as error:  # noqa: BLE001  # what is refused is data
            told["error"] = {"class": type(error).__name__, "text": str(error)}
        self._note("effect", told)

    def _do(self, each: HappensSpec) -> None:
        opened, world = self._opened, self._world
        if each.do == "listen":
            opened.set_callbacks(world.callbacks(LISTENER, each.hears))
        elif each.do == "manage":
            opened.manage()
        elif each.do == "restart":
            self._open()
        else:
            self._of_client(each)

    def _of_client(self, each: HappensSpec) -> None:
        client = self._clients[each.client]
        spec = self._world.scenario.client(each.client)
        if each.do == "set":
            client.set_agent_callbacks(self._world.callbacks(spec.name, each.hears))
        elif each.do == "remove":
            self._opened.remove_client(client)
        elif spec.old:
            self._connect_old(each.client)
        elif each.do == "connect_by_client":
            client.set_session_manager(self._opened)
        else:
            self._opened.set_client(client)

    def _connect_old(self, name: str) -> None:
        """Wire a client of v1: by its slot there, and adapted in v2."""
        old = self._world.old_client(self._world.scenario.client(name))
        v1 = self._engine.profile.clients == "none" or self._world.version == "v1"
        if v1 and self._world.version != "v2":
            self._opened.set_callbacks(v1_callbacks(old))
        else:
            self._opened.set_client(client_v2_of(old))

    async def _turn(self, turn: SessionTurnSpec) -> None:
        self._note("run_start", {"session": turn.session, "texts": list(turn.texts)})
        end: dict[str, object] = {}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                end["result"] = await self._played(turn)
            except asyncio.CancelledError:
                end["cancelled"] = True
            except Exception as error:  # noqa: BLE001  # what a session raised is data
                end["error"] = {"class": type(error).__name__, "text": str(error)}
        for each in warned:
            told = {"class": each.category.__name__, "text": str(each.message)}
            self._note("warning", told)
        self._note("run_end", end)

    async def _played(self, turn: SessionTurnSpec) -> object:
        play = self._streamed if turn.stream else self._ran
        task = asyncio.ensure_future(play(turn))
        if turn.cancel_after is None:
            return await task
        await asyncio.wait((task,), timeout=turn.cancel_after)
        task.cancel()
        return await task

    async def _ran(self, turn: SessionTurnSpec) -> object:
        result: Any = await self._opened.run(turn.session, *turn.texts)
        answer = getattr(result, "answer", None)
        return {
            "status": str(getattr(result, "status", "")),
            "answer": None if answer is None else seen_said(answer),
            "state": seen_state(getattr(result, "state", None)),
        }

    async def _streamed(self, turn: SessionTurnSpec) -> object:
        taken, facts = 0, self._opened.stream(turn.session, *turn.texts)
        async with aclosing(facts) as told:
            async for fact in told:
                data = seen_data(fact.data)
                self._note("effect", {"fact": fact.name, "data": data})
                taken += 1
                if taken == turn.leave_after:
                    return {"left": taken}
        return {"facts": taken}
