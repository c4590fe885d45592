"""pydantic-ai: capabilities, one a handler, and one ``Hooks`` with all as functions.

A run is one ``agent.run`` on a new history. Its instrumentation is off, as it is unless
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Variant


def _variants() -> Sequence[Variant]:
    from benchmarks.peers.pydantic_ai_runs import (  # noqa: PLC0415  # an extra
        VARIANTS,
    )

    return VARIANTS


PEER = Peer("pydantic-ai", "pydantic-ai-slim", _variants)
