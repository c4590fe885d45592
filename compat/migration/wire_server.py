"""The scripted server of a check: a session for each world that is played, and no more.

A check plays thousands of worlds, so a session is forgotten when its world is over, and
one that nobody began is not a session: a client that is left over plays no other world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

from compat.wire.server.app import Endpoints
from compat.wire.server.refusals import NOT_FOUND, ApiError
from compat.wire.server.scripted import MODEL, ScriptedServer
from compat.wire.server.sessions import (
    Script,
    ScriptedAnswer,
    ServedSession,
    Sessions,
    check_script,
)
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import pieces_of
from refengine.testing.own_tools import with_own_tools
from refengine.testing.scenario import AgentSpec, Scenario

WORLD: Final = "world"
"""What each session calls itself in its answers."""


class WorldScript(Script):
    """Answers as the model in process does: calls of own tools fit what is shown."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._others = [t.name for a in scenario.all_agents for t in a.tools]
        self.shown: Sequence[Mapping[str, Any]] = ()

    def answer(self, *, stream: bool) -> ScriptedAnswer:
        """Return the next answer; raises ApiError or ConnectionCut."""
        found = super().answer(stream=stream)
        message = with_own_tools(found.message, self.shown, self._others)
        if message is found.message:
            return found
        return replace(found, message=message, chunks=tuple(pieces_of(message)))


class WorldSession(ServedSession):
    """A client's way through a world.

    Its name is that of all others, so that their answers are the same.
    """

    def __init__(self, scenario: Scenario, root: str) -> None:
        super().__init__(WORLD, scenario, root)
        self.script: WorldScript = WorldScript(scenario)

    def receive(self, body: Mapping[str, Any]) -> None:
        """Take a body, before it is known to be one that is answered."""
        super().receive(body)
        tools: object = body.get("tools")
        some = tools if is_list(tools) else ()
        functions = [each.get("function") for each in some if is_mapping(each)]
        self.script.shown = [each for each in functions if is_mapping(each)]


class WorldSessions(Sessions):
    """The sessions of the worlds that are being played, by a part of an address."""

    def begin(self, key: str, scenario: Scenario) -> None:
        """Begin the session of a world; raises NotAnAnswerError."""
        check_script(scenario.model_script, "the world")
        self._found[key] = WorldSession(scenario, self.root)

    def end(self, key: str) -> None:
        """Forget a session, if it is not forgotten yet."""
        self._found.pop(key, None)

    def session(self, name: str) -> ServedSession:
        """Return the session that a client names; raises ApiError."""
        found = self._found.get(name)
        if found is None:
            raise ApiError("The world of this address is over.", kind=NOT_FOUND)
        return found


class WorldServer(ScriptedServer):
    """Serves worlds while its ``with`` block runs, to any number of clients at once."""

    def __init__(self) -> None:
        nothing = Scenario(agent=AgentSpec())
        super().__init__(nothing)
        self._sessions: WorldSessions = WorldSessions(nothing)
        self._endpoints = Endpoints(self._sessions, (MODEL,))
        self._numbers = count(1)

    def begin(self, scenario: Scenario) -> str:
        """Begin a session; return its base URL. Raises NotAnAnswerError."""
        key = f"w{next(self._numbers)}"
        self._sessions.begin(key, scenario)
        return f"{self.root}/{key}/v1"

    def end(self, address: str) -> None:
        """Forget the session of that base URL, and all that it was sent."""
        self._sessions.end(address.split("/")[-2])
