"""Playing a world of the callbacks dialect on a door: its sessions, one by one.

    trace = play_callbacks(scenario, CallbacksV2("callbacks-v2"))

A scenario that compares is played twice from fresh; ``build`` stands before each.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import aclosing
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
from compat.engines.dialect_playing import play_turn, seen_error, side_by_side
from refengine.messages import Json
from refengine.testing.clock import run
from refengine.testing.owned import folder_prefix
from refengine.testing.trace import Trace

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
    return side_by_side(
        _played(scenario, engine, version, file=file or scenario.file)
        for version, file in VERSIONS[scenario.compares]
    )


def _played(
    scenario: CallbacksScenario,
    engine: CallbacksEngine,
    version: Version,
    *,
    file: bool,
) -> Trace:
    with tempfile.TemporaryDirectory(prefix=folder_prefix()) as folder:
        path = Path(folder) / "sessions.db" if file else None
        world = CallbacksWorld(scenario, version, path)
        return run(SessionsPlayer(world, engine).play())


class SessionsPlayer:
    """One play of a scenario, on one engine."""

    def __init__(self, world: CallbacksWorld, engine: CallbacksEngine) -> None:
        self._world, self._engine = world, engine
        self._recorder = world.recorder
        self._note = world.recorder.note_now
        self._opened: OpenedSessions
        self._clients: dict[str, Client] = {
            each.name: world.client(each) for each in world.scenario.clients
        }

    async def play(self) -> Trace:
        """Play the sessions, and return all that was seen."""
        self._recorder.time_run()
        self._note("build", {"version": self._world.version})
        self._open()
        for number, turn in enumerate(self._world.scenario.turns, 1):
            self._recorder.run = number
            for each in turn.before:
                self._happens(each)
            await self._turn(turn)
            kept = seen_state(await self._opened.stored(turn.session))
            self._note("checkpoint", {"session": turn.session, "state": kept})
        return self._recorder.trace()

    def _open(self) -> None:
        self._opened = self._engine.open(self._world)
        self._world.emit, self._world.look = self._opened.emit, self._opened.stored

    def _happens(self, each: HappensSpec) -> None:
        told: dict[str, object] = {"do": each.do, "client": each.client}
        try:
            self._do(each)
        except Exception as error:  # noqa: BLE001  # what is refused is data
            told["error"] = seen_error(error)
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
        play = self._streamed if turn.stream else self._ran
        await play_turn(self._recorder, lambda: play(turn), turn.cancel_after, dict)

    async def _ran(self, turn: SessionTurnSpec) -> dict[str, Json]:
        result: Any = await self._opened.run(turn.session, *turn.texts)
        answer = getattr(result, "answer", None)
        return {
            "status": str(getattr(result, "status", "")),
            "answer": None if answer is None else seen_said(answer),
            "state": seen_state(getattr(result, "state", None)),
        }

    async def _streamed(self, turn: SessionTurnSpec) -> dict[str, Json]:
        taken, facts = 0, self._opened.stream(turn.session, *turn.texts)
        async with aclosing(facts) as told:
            async for fact in told:
                data = seen_data(fact.data)
                self._note("effect", {"fact": fact.name, "data": data})
                taken += 1
                if taken == turn.leave_after:
                    return {"left": taken}
        return {"facts": taken}
