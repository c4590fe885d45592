"""LangChain: the middleware of ``create_agent``.

A run is one call of the compiled graph without a checkpointer. The wraps are measured
by both ways of calling it, since only the sync one grows the stack with each layer.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Variant


def _variants() -> Sequence[Variant]:
    from benchmarks.peers.langchain_runs import (  # noqa: PLC0415  # an extra
        VARIANTS,
    )

    return VARIANTS


PEER = Peer("langchain", "langchain", _variants)
