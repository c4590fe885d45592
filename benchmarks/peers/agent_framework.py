"""Microsoft's agent-framework: its three kinds of middleware.

A run is one ``agent.run`` without a session, so on a new history. The framework's own
instrumentation is switched off for the whole process: it is on from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Variant


def _variants() -> Sequence[Variant]:
    from benchmarks.peers.agent_framework_runs import (  # noqa: PLC0415  # an extra
        untraced_variants,
    )

    return untraced_variants()


PEER = Peer("agent-framework", "agent-framework-core", _variants)
