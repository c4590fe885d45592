"""Output schema: a tool for the answer, for models that take no schema beside tools."""

from __future__ import annotations

from typing import Final

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.processors.asked import asking_agent
from compat.dialects.flow.structured import ANSWER_TOOL, answer_tool
from compat.dialects.flow.tools import add_tool
from compat.dialects.flow.variants import takes_schema_natively

NOTE: Final = (
    f"IMPORTANT: use the other tools as you need them, and give your final answer"
    f" through the tool {ANSWER_TOOL} and in no other way."
)


def ask_for_structure(ctx: InvocationContext, request: LlmRequest, _: object) -> None:
    """Add the tool that takes the answer, and say that it is to be used."""
    agent = asking_agent(ctx)
    if agent.output_schema is None or takes_schema_natively(agent, ctx.profile):
        return
    tool = answer_tool(agent.output_schema)
    add_tool(request, tool, agent.name, ctx.profile)
    request.append_instructions(NOTE)
