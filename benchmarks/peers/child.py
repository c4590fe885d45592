"""One framework in a process of its own, for one call.

By the protocol of ``refengine.testing.child``, after ``initialize`` with the ``peer``,
a name of the table or ``module:attribute``:

    list     {}                      {"version": "1.2", "variants": [...]}
    admit    {"numbers": [0]}        {"admitted": ["before_model"], "refused": {}}
    measure  {"at": 0, "plan": {}}   {"series": [...], "memory": 120.0}
    try      {"at": 0, "n": 600}     {"how": null} or {"how": "silent", ...}

A framework that is not installed is reported as {"absent": "..."}.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from benchmarks.peers.gate import WorkNotDoneError, admit
from benchmarks.peers.peer import Peer, Variant, peer_named
from benchmarks.peers.plan import PeerPlan
from benchmarks.peers.sampling import Reply, described, measure_hook
from refengine.testing.child import Connection, Function, Params

OFF: Final = {
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
}
"""What a child's environment has, so that nothing is traced or sent anywhere."""


def main() -> None:
    """Answer the one call, for the peer that ``initialize`` names."""
    table: dict[str, Function] = {}

    def initialize(about: Params) -> None:
        peer = loaded(about["peer"])
        for do in ("list", "admit", "measure", "try"):
            table[do] = partial(_answered, peer, do)

    table["initialize"] = initialize
    Connection(table).serve()


def _answered(peer: Peer, do: str, params: Params) -> Reply:
    return answer(peer, {"do": do, **params})


def loaded(ref: str) -> Peer:
    """Return a peer by its name, or by where it stands; raises UnknownPeerError."""
    module, colon, attribute = ref.partition(":")
    if not colon:
        return peer_named(ref)
    peer: Peer = getattr(import_module(module), attribute)
    return peer


def answer(peer: Peer, request: dict[str, Any]) -> Reply:
    """Return the reply to a request."""
    try:
        variants: Sequence[Variant] = peer.variants()
    except ImportError as error:
        return {"absent": described(error)}
    if request["do"] == "list":
        return _listed(peer, variants)
    if request["do"] == "admit":
        return asyncio.run(judged(variants, request["numbers"]))
    at: int = request["at"]
    variant = variants[at]
    if request["do"] == "measure":
        return asyncio.run(measure_hook(variant, PeerPlan.of(request["plan"])))
    return tried(variant, request["n"])


async def judged(variants: Sequence[Variant], numbers: Sequence[int]) -> Reply:
    """Send every hook through the gate; return which pass and why others do not."""
    admitted: list[str] = []
    refused: dict[str, str] = {}
    for each in variants:
        try:
            for n in numbers:
                await admit(each, n)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is reported
            refused[each.hook] = described(error)
        else:
            admitted.append(each.hook)
    return {"admitted": admitted, "refused": refused}


def tried(variant: Variant, n: int) -> Reply:
    """Build and run once with ``n`` handlers; return how that failed, if it did."""
    try:
        asyncio.run(admit(variant, n, times=1))
    except WorkNotDoneError as error:
        return {"how": "silent", "what": error.what}
    except BaseException as error:  # noqa: BLE001  # however it fails, that is the answer
        return {"how": "exception", "what": described(error)}
    return {"how": None}


def _listed(peer: Peer, variants: Sequence[Variant]) -> Reply:
    try:
        installed = version(peer.distribution)
    except PackageNotFoundError as error:
        return {"absent": described(error)}
    return {
        "version": installed,
        "variants": [{"hook": each.hook, "ours": each.ours} for each in variants],
    }
