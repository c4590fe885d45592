"""LangGraph: the hooks of ``create_react_agent``.

It takes one function before and one after the model and no list of them, so whoever
has several composes them: N handlers are N functions that one hook awaits in turn. The
node that the hook is costs the same with one function as with hundreds; it is in the
points, and not in the slope. Without functions there is no hook.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Variant


def _variants() -> Sequence[Variant]:
    from benchmarks.peers.langgraph_runs import (  # noqa: PLC0415  # an extra
        VARIANTS,
    )

    return VARIANTS


PEER = Peer("langgraph", "langgraph", _variants)
