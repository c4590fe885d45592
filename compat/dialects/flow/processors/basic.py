"""Basic: the agent's configuration, and its schema where the model takes it."""

from __future__ import annotations

from dataclasses import replace

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import GenerateConfig, LlmRequest
from compat.dialects.flow.processors.asked import asking_agent
from compat.dialects.flow.variants import takes_schema_natively


def fill_config(ctx: InvocationContext, request: LlmRequest, _: object) -> None:
    """Give the request the agent's configuration.

    An output schema is asked for natively, unless tools stand in its way and the model
    cannot have both (see ``output_schema.py``).
    """
    agent = asking_agent(ctx)
    request.config = agent.config or GenerateConfig()
    if agent.output_schema is not None and takes_schema_natively(agent, ctx.profile):
        request.config = replace(
            request.config,
            response_schema=agent.output_schema,
            response_mime_type="application/json",
        )
