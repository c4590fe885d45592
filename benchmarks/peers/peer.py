"""What another framework has to give so that a handler of it can be measured.

Each framework does the same run: its own kind of model, scripted and in this process,
asks for one tool, the tool answers, the model answers. Handlers that do nothing stand
at one hook of it. Nothing waits, nothing reaches a network.

The frameworks that are measured stand in a table, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, TypeAlias

from benchmarks.measure import Work
from benchmarks.parts import ANSWERS, CALL
from refengine.errors import RefengineError

QUESTION: Final = "What does the tool say?"
ANSWER: Final = ANSWERS.content
TOOL: Final = CALL.name
TOOL_TEXT: Final = "hello"
"""What the tool is called with, as ``text``, and what it gives back."""
CALL_ID: Final = CALL.id
MODEL_CALLS: Final = 2
TOOL_CALLS: Final = 1


@dataclass(slots=True)
class PeerCounts:
    """What a run did: calls of the model, of the tool and of all handlers together."""

    model: int = 0
    tool: int = 0
    hooks: int = 0


Build: TypeAlias = Callable[[int, PeerCounts | None], Work]
"""Sets a framework up with so many handlers and returns one run of it.

The run returns the text of its answer. With ``PeerCounts`` model, tool and handlers
count their calls in it; without one they do nothing, as when they are measured.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """One hook of a framework, and the hook of ours that does the same.

    ``hook`` is the framework's own name of it. ``calls`` is how often one handler's
    hook is called in one run: twice around the model, once around the tool.
    """

    hook: str
    ours: str
    calls: int
    build: Build


@dataclass(frozen=True, slots=True)
class Peer:
    """A framework: its name here, and the distribution whose version is reported.

    ``variants`` imports the framework and raises ImportError where it is not installed.
    """

    name: str
    distribution: str
    variants: Callable[[], Sequence[Variant]]


def _of(module: str) -> Callable[[], Sequence[Variant]]:
    """Return what imports a framework's module and returns what it has."""

    def variants() -> Sequence[Variant]:
        found: Sequence[Variant] = import_module(
            f"{__package__}.frameworks.{module}"
        ).variants()
        return found

    return variants


PEERS: Final[Mapping[str, Peer]] = MappingProxyType(
    {
        peer.name: peer
        for peer in (
            Peer("langchain", "langchain", _of("langchain")),
            Peer("langgraph", "langgraph", _of("langgraph")),
            Peer("google-adk", "google-adk", _of("google_adk")),
            Peer("pydantic-ai", "pydantic-ai-slim", _of("pydantic_ai")),
            Peer("agent-framework", "agent-framework-core", _of("agent_framework")),
            Peer("strands", "strands-agents", _of("strands")),
            Peer("flow", "refengine", _of("flow")),
        )
    }
)
"""The frameworks that are measured, by name; none of them is imported yet."""
NAMES: Final = tuple(PEERS)


class UnknownPeerError(RefengineError):
    """A peer that is not in the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no peer {name!r} is measured; there are {', '.join(NAMES)}")


def peer_named(name: str) -> Peer:
    """Return the peer; raises UnknownPeerError. Its framework is not imported yet."""
    if name not in PEERS:
        raise UnknownPeerError(name)
    return PEERS[name]
