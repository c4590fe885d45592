"""Strands Agents: a hook, and the middleware around a model and around a tool call.

A run is one ``agent.invoke_async``. An agent of it keeps its messages and its metrics,
so a run begins by giving it new ones: two plain objects, and part of what is measured.
Spans go to OpenTelemetry's own no-op tracer, as nobody sets up another.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Variant


def _variants() -> Sequence[Variant]:
    from benchmarks.peers.strands_runs import (  # noqa: PLC0415  # an extra
        VARIANTS,
    )

    return VARIANTS


PEER = Peer("strands", "strands-agents", _variants)
