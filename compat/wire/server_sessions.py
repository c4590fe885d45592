"""The sessions of a server: each has its own place in a script, and what it got."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.wire.errors import WireError
from compat.wire.server_errors import NOT_FOUND, ApiError
from compat.wire.server_script import Script, check_script
from refengine.testing.scenario import Scenario, ScriptEntry

DEFAULT: Final = "default"
"""The session of a client that names none."""
NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
MOST: Final = 100_000
"""So many sessions one server keeps; more is a client that makes up names."""


class SessionNameError(WireError, ValueError):
    """A name that cannot stand in the path of an address, or that is taken."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        super().__init__(f"session {name!r} {problem}")


class Session:
    """One client's way through a script."""

    def __init__(self, name: str, scenario: Scenario, root: str) -> None:
        self.name = name
        self.script = Script(scenario)
        self._root = root
        self._received: list[Mapping[str, Any]] = []

    @property
    def base_url(self) -> str:
        """The base URL to give a client, so that it plays this session."""
        return f"{self._root}/{self.name}/v1"

    @property
    def requests(self) -> tuple[Mapping[str, Any], ...]:
        """The bodies of chat completions in the order they came, refused ones too."""
        return tuple(self._received)

    @property
    def calls(self) -> int:
        """How many calls the script answered; refused requests are none."""
        return self.script.calls

    @property
    def unplayed(self) -> tuple[ScriptEntry, ...]:
        """The answers that no call has asked for yet."""
        return self.script.unplayed

    def receive(self, body: Mapping[str, Any]) -> None:
        """Keep a body."""
        self._received.append(body)


class Sessions:
    """The sessions by name; one that a client asks for first begins at the start.

    ``root`` is where the server is, known once it listens.
    """

    def __init__(self, scenario: Scenario) -> None:
        check_script(scenario.model_script, "the scenario")
        self._scenario = scenario
        self.root = ""
        self._found: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._found.values()))

    def open(self, name: str, scenario: Scenario | None = None) -> Session:
        """Return a new session, of its own script if one is given.

        Raises SessionNameError and NotAnAnswerError.
        """
        if NAME.fullmatch(name) is None:
            raise SessionNameError(name, f"cannot be a path: use {NAME.pattern}")
        if name in self._found:
            raise SessionNameError(name, "is there already: take another name")
        if scenario is not None:
            check_script(scenario.model_script, f"session {name!r}")
        made = Session(name, scenario or self._scenario, self.root)
        self._found[name] = made
        return made

    def get(self, name: str) -> Session:
        """Return a session, begun if it is not there; raises SessionNameError."""
        return self._found[name] if name in self._found else self.open(name)

    def asked(self, name: str) -> Session:
        """Return the session that a client names; raises ApiError."""
        if name not in self._found and len(self._found) >= MOST:
            raise ApiError(f"There are {MOST} sessions already.", kind=NOT_FOUND)
        try:
            return self.get(name)
        except SessionNameError as error:
            raise ApiError(str(error), kind=NOT_FOUND) from error
