"""Tools: those of the agent and of its toolsets, once for a run of it."""

from __future__ import annotations

from typing import cast

from compat.dialects.flow.contexts import InvocationContext, ReadonlyContext
from compat.dialects.flow.flow import Flow
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.processors.asked import asking_agent
from compat.dialects.flow.tools import Tool


async def find_tools(ctx: InvocationContext, _: LlmRequest, flow: Flow) -> None:
    """Fill the flow's tools, if they are not there already."""
    if flow.tools:
        return
    agent = asking_agent(ctx)
    found = [cast("Tool", each) for each in agent.tools]
    for each in agent.toolsets:
        found.extend(await each.tools(ReadonlyContext(ctx)))
    flow.tools.extend(found)
