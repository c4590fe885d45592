"""google-adk: the callbacks of an agent, and plugins of its runner.

A run makes a session in memory and sends one message through a ``Runner``, which is the
least that anybody does who starts afresh: it goes through no server and no storage.
Callbacks before and after the model or the tool do not wrap it; ours that is named
beside them does, and so does more.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Variant


def _variants() -> Sequence[Variant]:
    from benchmarks.peers.google_adk_runs import (  # noqa: PLC0415  # an extra
        VARIANTS,
    )

    return VARIANTS


PEER = Peer("google-adk", "google-adk", _variants)
