"""The frameworks that are measured, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from benchmarks.peers.peer import Peer
from refengine.errors import RefengineError

_MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "langchain": "langchain",
        "langgraph": "langgraph",
        "google-adk": "google_adk",
        "pydantic-ai": "pydantic_ai",
        "agent-framework": "agent_framework",
        "strands": "strands",
    }
)
NAMES: Final = tuple(_MODULES)


class UnknownPeerError(RefengineError):
    """A peer that is not in the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no peer {name!r} is measured; there are {', '.join(NAMES)}")


def check(name: str) -> None:
    """See that a peer is in the table; raises UnknownPeerError."""
    if name not in _MODULES:
        raise UnknownPeerError(name)


def peer_named(name: str) -> Peer:
    """Return the peer; raises UnknownPeerError. Its framework is not imported yet."""
    check(name)
    module = import_module(f"{__package__}.{_MODULES[name]}")
    peer: Peer = module.PEER
    return peer
