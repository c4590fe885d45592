"""One framework in a process of its own: a hook beside our engine.

By the protocol of ``refengine.testing.child``, after ``initialize`` with the ``peer``,
a name of the table or ``module:attribute``:

    list     {}                      {"version": "1.2", "variants": [...]}
    admit    {"numbers": [0]}        {"admitted": ["before_model"], "refused": {}}
    measure  {"at": 0, "plan": {}}   {"series": [...], "memory": 120.0}
    try      {"at": 0, "n": 600}     {"how": null} or {"how": "silent", ...}
    setup    {"name": "", "file": ""}  {"changed": 5}, or {"wrong": "..."}
    time     {"at": 0, "plan": {}}   {"points": [[10, [[0.001]]]]}
    seen     {}                      {"spans": 12}

To time is to measure the framework alone, with more and more handlers, or with more and
more chunks of a stream: those come behind the hooks of the list. A setup turns an
observer on, so that another child, without it, is what it is measured beside.

A framework that is not installed is reported as {"absent": "..."}. To measure is first
the gate, at every number of handlers; then the samples, raw, for the parent to reckon
with; then what a run holds, which is not timed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from time import get_clock_info, perf_counter, process_time
from typing import Any, Final, TypeAlias

from benchmarks.kinds import bare_side, engine_side, kind_of
from benchmarks.making import traced
from benchmarks.measure import (
    FEWEST,
    MeasuredBar,
    MeasuredPair,
    MeasuredSide,
    Work,
    sample,
    turns,
)
from benchmarks.measure import admit as admit_pair
from benchmarks.parts import SharedParts
from benchmarks.peers.peer import (
    Peer,
    PeerPlan,
    Variant,
    WorkNotDoneError,
    admit,
    peer_named,
)
from benchmarks.specs import Setting
from refengine.testing.child import Connection, Function, Params
from refengine.testing.isolation.setups import SideSetup
from refengine.testing.loading import Fault

_FINE: Final = 1e-6
CLOCK: Final = (
    process_time if get_clock_info("process_time").resolution <= _FINE else perf_counter
)


async def once(work: Work) -> float:
    """Return the seconds of one run, once warm."""
    await work()
    side = MeasuredSide(work)
    return median([await sample(side, 1, CLOCK) for _ in range(FEWEST)])


Reply: TypeAlias = dict[str, Any]

MESSAGES: Final = 1
"""A peer is asked one question, and so are the sides beside it."""
LOST: Final = 2.0
"""A run as long as so many base runs is mostly handlers: their slope is not noise."""


async def measure_hook(variant: Variant, plan: PeerPlan) -> Reply:
    """Return the samples and the memory of a hook, or why there are none."""
    try:
        points = await admitted(variant, plan)
    except WorkNotDoneError as error:
        return {"blocked": {"clause": error.clause, "why": str(error)}}
    except Exception as error:  # noqa: BLE001  # whatever a framework raises
        return {"blocked": {"clause": None, "why": described(error)}}
    taken = [await one_series(variant, points, plan) for _ in range(plan.series)]
    return {"series": taken, "memory": await memory(variant, plan.memory)}


async def admit_ours(variant: Variant, n: int) -> None:
    """See that the run by hand and our engine do the work; raises WorkDiffersError."""
    setting = setting_of(variant, n)

    async def pair(kit: SharedParts) -> MeasuredPair:
        return MeasuredPair(bare_side(setting, kit), await engine_side(setting, kit))

    await admit_pair(MeasuredBar(0, variant.ours, None, pair))


async def admitted(variant: Variant, plan: PeerPlan) -> Sequence[int]:
    """Return the numbers of handlers to measure; raises what the gate raises.

    The first runs at each are the gate's, so a hook that does not do its work is not
    measured. Above ``plan.needed`` a number is just left out.
    """
    points = [n for n in plan.points if n <= plan.needed]
    for n in points:
        await admit_ours(variant, n)
        await admit(variant, n)
    further = [n for n in plan.points if n > plan.needed]
    points += [n for n in further if await _holds(variant, n)]
    for n in plan.further:
        if await _is_mostly_handlers(variant, points[-1]):
            return points
        points += [n] if await _holds(variant, n) else []
    return points


async def one_series(
    variant: Variant, points: Sequence[int], plan: PeerPlan
) -> list[tuple[int, list[tuple[float, ...]]]]:
    """Set the three sides up anew at each number of handlers, and take turns."""
    taken: list[tuple[int, list[tuple[float, ...]]]] = []
    for n in points:
        setting = setting_of(variant, n)
        bare = bare_side(setting, SharedParts())
        ours = await engine_side(setting, SharedParts())
        sides = bare, ours, MeasuredSide(variant.build(n, None))
        rounds = await turns(sides, plan.rounds, plan.sample, CLOCK, plan.budget)
        taken.append((n, rounds))
    return taken


async def memory(variant: Variant, between: tuple[int, int]) -> float:
    """Return the bytes that one handler adds to the peak of a run."""
    peaks = [
        (await traced(MeasuredSide(variant.build(n, None))))["peak"] for n in between
    ]
    low, high = between
    return (peaks[1] - peaks[0]) / (high - low)


async def timed(variant: Variant, plan: PeerPlan) -> Reply:
    """Return the samples of the framework alone, or why there are none."""
    taken: list[tuple[int, list[tuple[float, ...]]]] = []
    try:
        for n in plan.points:
            await admit(variant, n, times=1)
            side = MeasuredSide(variant.build(n, None))
            taken.append((n, await turns([side], plan.rounds, plan.sample, CLOCK)))
    except WorkNotDoneError as error:
        return {"blocked": {"clause": error.clause, "why": str(error)}}
    except Exception as error:  # noqa: BLE001  # whatever a framework raises
        return {"blocked": {"clause": None, "why": described(error)}}
    return {"points": taken}


def setting_of(variant: Variant, n: int) -> Setting:
    """Return what the two other sides run: as much history as a peer is given."""
    return replace(kind_of(variant.ours).setting(n), history=MESSAGES)


def described(error: BaseException) -> str:
    """Return an exception in one line: its class and the first line it says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


async def _holds(variant: Variant, n: int) -> bool:
    try:
        bare_side(setting_of(variant, n), SharedParts())
        await admit(variant, n, times=1)
    except Exception:  # noqa: BLE001  # tries find out how it fails
        return False
    return True


async def _is_mostly_handlers(variant: Variant, n: int) -> bool:
    base, with_handlers = variant.build(0, None), variant.build(n, None)
    return await once(with_handlers) > LOST * await once(base)


OFF: Final = {
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
}
"""What a child's environment has, so that nothing is traced or sent anywhere."""


WAYS: Final = {"measure": measure_hook, "time": timed}
"""Ways to measure."""


def main() -> None:
    """Answer the calls, for the peer that ``initialize`` names."""
    table: dict[str, Function] = {}

    def initialize(about: Params) -> None:
        peer = loaded(about["peer"])
        for do in ("list", "admit", "measure", "try", "time"):
            table[do] = partial(_answered, peer, do)
        table["setup"] = partial(_set_up, peer, table)

    table["initialize"] = initialize
    Connection(table).serve()


def _set_up(peer: Peer, table: dict[str, Function], given: Params) -> Reply:
    """Run a setup behind the import of the framework, as for a side of a check."""
    peer.variants()
    setup = SideSetup(given["name"], given["file"])
    try:
        setup.run()
    except Fault as error:
        return {"wrong": str(error)}
    table["seen"] = lambda _: {"spans": setup.spans}
    return {"changed": setup.changed}


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
        variants = [*peer.variants(), *peer.streams()]
    except ImportError as error:
        return {"absent": described(error)}
    if request["do"] == "list":
        return _listed(peer, variants)
    if request["do"] == "admit":
        hooks = [each for each in variants if each.ours]
        return asyncio.run(judged(hooks, request["numbers"]))
    at: int = request["at"]
    variant = variants[at]
    if request["do"] in WAYS:
        plan = PeerPlan.of(request["plan"])
        return asyncio.run(WAYS[request["do"]](variant, plan))
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
