"""The sessions of a server: each has its own position in a script, and what it got.

It is the very model that runs in process, so that cutting, joining, failing and the end
of the script mean the same on both sides of the wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from compat.wire.errors import WireError
from compat.wire.server.refusals import ENDED, NOT_FOUND, ApiError, failure
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.testing.notation import parse_message, pieces_of
from refengine.testing.own_tools import with_own_tools
from refengine.testing.scenario import ModelChunks, ModelFailure, Scenario, ScriptEntry
from refengine.testing.scripted import ScriptedModel, UnexpectedCallError

CUT: Final = re.compile(r"connection\b", re.IGNORECASE)
"""A failure whose name starts so is not an answer at all: the connection is closed."""
IN_STREAM: Final = re.compile(r"in stream\b", re.IGNORECASE)
"""A stream's failure whose name starts so is told by the server, in an event."""


class NotAnAnswerError(WireError, ValueError):
    """A script has a message that no model answers with."""

    def __init__(self, source: str, where: str, text: str) -> None:
        self.text = text
        super().__init__(
            f"{source} cannot be served: {where} = {text!r}:"
            " write an answer of the model as 'assistant:…'"
        )


class ConnectionCut(Exception):
    """The scenario has the connection end without an answer."""


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """The n-th answer of a session, whole and in the pieces a stream brings it in.

    ``cut``: the stream breaks off after the last piece. ``error``: an error is its last
    event instead.
    """

    call: int
    message: Message
    chunks: tuple[MessageChunk, ...]
    cut: bool = False
    error: ApiError | None = None


class Script:
    """The answers of one session."""

    def __init__(self, scenario: Scenario) -> None:
        self._model = ScriptedModel(scenario.model_script, at_end=scenario.script_end)
        self._tools = [t.name for a in scenario.all_agents for t in a.tools]

    @property
    def calls(self) -> int:
        """How many calls were answered, failures included."""
        return self._model.calls

    @property
    def unplayed(self) -> tuple[ScriptEntry, ...]:
        """The answers that no call has asked for yet."""
        return self._model.unplayed

    def fitting(
        self, shown: Sequence[Mapping[str, Any]], *, stream: bool
    ) -> ScriptedAnswer:
        """Return the next answer; calls of own tools fit those that were shown.

        So the model in process does it. Raises ApiError or ConnectionCut.
        """
        found = self.answer(stream=stream)
        message = with_own_tools(found.message, shown, self._tools)
        if message is found.message:
            return found
        return replace(found, message=message, chunks=tuple(pieces_of(message)))

    def answer(self, *, stream: bool) -> ScriptedAnswer:
        """Return the next answer; raises ApiError or ConnectionCut."""
        self._model.begin_call({})
        try:
            given, fails = self._model.next_answer()
        except UnexpectedCallError as error:
            raise ApiError(str(error), kind=ENDED) from error
        if isinstance(given, Message):
            if fails is not None:
                raise _failed(fails)
            return ScriptedAnswer(self.calls, given, tuple(pieces_of(given)))
        if fails is not None and not stream:
            raise _failed(fails)
        whole = ScriptedAnswer(self.calls, join_chunks(given), tuple(given))
        if fails is None:
            return whole
        if IN_STREAM.match(fails):
            return replace(whole, error=failure(fails))
        return replace(whole, cut=True)


def _failed(name: str) -> ApiError | ConnectionCut:
    return ConnectionCut() if CUT.match(name) else failure(name)


def check_script(script: Sequence[ScriptEntry], source: str) -> None:
    """Refuse what would only be found when the call comes; raises NotAnAnswerError."""
    for at, entry in enumerate(script):
        for where, text in _texts(entry):
            if parse_message(text).role != "assistant":
                raise NotAnAnswerError(source, f"model_script[{at}]{where}", text)


def _texts(entry: ScriptEntry) -> list[tuple[str, str]]:
    if isinstance(entry, ModelFailure):
        return []
    if isinstance(entry, ModelChunks):
        return [(f".chunks[{at}]", text) for at, text in enumerate(entry.chunks)]
    return [("", entry)]


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


class ServedSession:
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
        self._found: dict[str, ServedSession] = {}

    def __iter__(self) -> Iterator[ServedSession]:
        return iter(tuple(self._found.values()))

    def open(self, name: str, scenario: Scenario | None = None) -> ServedSession:
        """Return a new session, of its own script if one is given.

        Raises SessionNameError and NotAnAnswerError.
        """
        if NAME.fullmatch(name) is None:
            raise SessionNameError(name, f"cannot be a path: use {NAME.pattern}")
        if name in self._found:
            raise SessionNameError(name, "is there already: take another name")
        if scenario is not None:
            check_script(scenario.model_script, f"session {name!r}")
        made = ServedSession(name, scenario or self._scenario, self.root)
        self._found[name] = made
        return made

    def get(self, name: str) -> ServedSession:
        """Return a session, begun if it is not there; raises SessionNameError."""
        return self._found[name] if name in self._found else self.open(name)

    def session(self, name: str) -> ServedSession:
        """Return the session that a client names; raises ApiError."""
        if name not in self._found and len(self._found) >= MOST:
            raise ApiError(f"There are {MOST} sessions already.", kind=NOT_FOUND)
        try:
            return self.get(name)
        except SessionNameError as error:
            raise ApiError(str(error), kind=NOT_FOUND) from error
