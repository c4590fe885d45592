"""What a run holds: bytes at its peak, bytes it leaves behind, blocks it needs.

Never measured while time is: tracing an allocation takes longer than making it.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from benchmarks.making import Maker
from benchmarks.measure import Side
from benchmarks.parts import Kit
from benchmarks.specs import SideSpec

T = TypeVar("T")
WARM_UPS = 3
"""Runs before one is looked at: the first ones fill caches that stay."""


class Deepest(Kit):
    """A kit whose model and tool look at how many blocks are in use when they run."""

    def __init__(self) -> None:
        super().__init__(Counter())
        self.blocks = 0

    def counted(self, method: Callable[..., T], key: str) -> Callable[..., T]:
        """Return a function; model and tool also look at what is in use."""
        if not key.endswith((".invoke", ".stream")):
            return method
        tool = cast("Callable[..., Awaitable[Any]]", method)

        async def looked(*given: object) -> object:
            self.blocks = max(self.blocks, sys.getallocatedblocks())
            return await tool(*given)

        return cast("Callable[..., T]", looked)


async def memory(maker: Maker, spec: SideSpec) -> dict[str, int]:
    """Return ``peak`` and ``left`` in bytes, ``blocks`` where model or tool run.

    Raises what setting the side up raises.
    """
    side = await maker.made(spec, Kit())
    found = await _traced(side)
    kit = Deepest()
    side = await maker.made(spec, kit)
    for _ in range(WARM_UPS):
        await side.work()
    gc.collect()
    kit.blocks, before = 0, sys.getallocatedblocks()
    await side.work()
    return {**found, "blocks": max(kit.blocks - before, 0)}


async def _traced(side: Side) -> dict[str, int]:
    tracemalloc.start()
    try:
        for _ in range(WARM_UPS):
            await side.work()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await side.work()
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {"peak": peak - before, "left": max(after - before, 0)}
