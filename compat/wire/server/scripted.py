"""The scripted server: a scenario's model behind OpenAI's interface, on loopback.

``ScriptedServer`` runs it in a thread, for tests; ``serve`` runs it until a signal ends
it, for the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.applications import Starlette

from compat.wire.server.app import Endpoints, application
from compat.wire.server.loopback import LoopbackServer
from compat.wire.server.sessions import DEFAULT, ServedSession, Sessions
from refengine.testing.scenario import Scenario

MODEL: Final = "scripted"
"""What the list of models has in it, unless another name is given."""


class ScriptedServer(LoopbackServer):
    """Serves a scenario while its ``with`` block runs, in a thread of its own.

    ``base_url`` is the session ``default``; ``session(name)`` is another client's, with
    its own place in the script; ``open(name, scenario)`` one with its own script.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        port: int = 0,
        model: str = MODEL,
    ) -> None:
        super().__init__(port=port)
        self._sessions = Sessions(scenario)
        self._endpoints = Endpoints(self._sessions, (model,))

    @property
    def base_url(self) -> str:
        """The base URL to give a client that names no session."""
        return f"{self.root}/v1"

    @property
    def requests(self) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
        """The bodies that each session received, by its name, in their order."""
        return {session.name: session.requests for session in self._sessions}

    @property
    def sessions(self) -> tuple[ServedSession, ...]:
        """The sessions there are so far."""
        return tuple(self._sessions)

    def session(self, name: str = DEFAULT) -> ServedSession:
        """Return a session, begun if nobody asked yet; raises SessionNameError."""
        return self._sessions.get(name)

    def open(self, name: str, scenario: Scenario) -> ServedSession:
        """Return a new session with a script of its own.

        Raises SessionNameError and NotAnAnswerError.
        """
        return self._sessions.open(name, scenario)

    def _application(self) -> Starlette:
        self._sessions.root = self.root
        return application(self._endpoints)
