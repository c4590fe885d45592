"""Sub-agents at the same time: their events as they come, each agent on a branch.

An agent goes on only when its event was taken, so that what it reads next of the
session holds that event.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from compat.dialects.flow.contexts import AgentRun, InvocationContext
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.tree import Agent
from refengine.awaiting import ended


def branch_of(ctx: InvocationContext, name: str) -> str:
    """Return the branch of a sub-agent of that name."""
    own = f"{ctx.agent.name}.{name}"
    return f"{ctx.branch}.{own}" if ctx.branch else own


async def run_in_parallel(ctx: InvocationContext, run: AgentRun) -> Events:
    """Yield the events of all sub-agents; the first error ends them all."""
    waiting: asyncio.Queue[tuple[Event, asyncio.Event]] = asyncio.Queue()

    async def tell(sub: InvocationContext) -> None:
        async with aclosing(run(sub)) as events:
            async for event in events:
                taken = asyncio.Event()
                await waiting.put((event, taken))
                await taken.wait()

    def beside(agent: Agent) -> InvocationContext:
        inner = ctx.within(agent, branch_of(ctx, agent.name))
        inner.watched = True
        return inner

    tasks = [asyncio.ensure_future(tell(beside(each))) for each in ctx.agent.sub_agents]
    try:
        while (found := await _next(waiting, tasks)) is not None:
            event, taken = found
            yield event
            if _ends_all(ctx, event):
                return
            taken.set()
    finally:
        await ended(tasks)


def _ends_all(ctx: InvocationContext, event: Event) -> bool:
    """Tell whether an event ends the other agents too: one of them escalated."""
    names = {each.name for each in ctx.agent.sub_agents}
    escalated = bool(event.actions.escalate) and event.author in names
    return escalated and ctx.profile.parallel_escalation == "ends_all"


async def _next(
    waiting: asyncio.Queue[tuple[Event, asyncio.Event]],
    tasks: list[asyncio.Task[None]],
) -> tuple[Event, asyncio.Event] | None:
    """Return the next event, None when all have ended; raise the error of one."""
    while waiting.empty():
        for each in tasks:
            if each.done():
                each.result()
        running = [each for each in tasks if not each.done()]
        if not running:
            return None
        getting = asyncio.ensure_future(waiting.get())
        try:
            done, _ = await asyncio.wait(
                [getting, *running], return_when=asyncio.FIRST_COMPLETED
            )
            if getting in done:
                return getting.result()
        finally:
            getting.cancel()
    return waiting.get_nowait()
