"""A check over the wire: graphs ask a real server by a vendor's own client.

    world → a session of the server → its base URL, with the request to play → a child

The bodies that the clients send are what is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from compat.migration.corpus import Corpus
from compat.migration.wire_worlds import over_the_wire, sendable
from compat.report.wire import OverTheWire
from compat.wire.errors import MissingWireExtraError
from refengine.testing.scenario import Scenario
from refengine.testing.strategies.subject_words import Words
from refengine.testing.world import WorldExtraError

if TYPE_CHECKING:
    from compat.migration.wire_server import WorldServer

CLIENTS: Final = ("langchain-openai", "openai")
"""Distributions of the client, that of ChatOpenAI first."""


class Wire:
    """The server of one check or folder, and what was left out there."""

    def __init__(self, server: WorldServer) -> None:
        self._server = server
        self._left_out: list[Counter[str]] = []
        self._cases: list[str] = []

    def words(self, words: Words) -> Words:
        """Return the words without names of tools that no vendor takes."""
        return sendable(words)

    def corpus(self, corpus: Corpus) -> Corpus:
        """Return the worlds that say something over the wire; raises NoWorldsError."""
        found, left_out = over_the_wire(corpus)
        self._left_out.append(left_out)
        return found

    def leave_out(self, case: str) -> None:
        """Note a case that cannot be judged over the wire."""
        self._cases.append(case)

    def begin(self, world: Scenario) -> str:
        """Begin a world; return the base URL that it is played at."""
        return self._server.begin(world)

    def end(self, address: str) -> None:
        """Forget a world that was played, or never will be."""
        self._server.end(address)

    @property
    def told(self) -> OverTheWire:
        """What a report says of it, by now."""
        left_out = sum(self._left_out, Counter[str]())
        versions = {name: version(name) for name in CLIENTS}
        return OverTheWire(versions, left_out, sorted(self._cases))


@contextmanager
def serving() -> Generator[Wire, None, None]:
    """Serve worlds while the block runs.

    Raises MissingExtraError and MissingWireExtraError where an extra is not installed.
    """
    try:
        _ = [version(name) for name in CLIENTS]
    except ImportError as error:
        raise WorldExtraError("--wire", "langchain", error) from error
    try:
        from compat.migration.wire_server import WorldServer  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        raise MissingWireExtraError(str(error.name)) from error
    with WorldServer() as server:
        yield Wire(server)
