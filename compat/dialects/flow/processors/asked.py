"""Whose request it is: processors work for agents that ask a model."""

from __future__ import annotations

from compat.dialects.flow.agents import LlmAgent
from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.run_errors import AgentFieldError


def asking_agent(ctx: InvocationContext) -> LlmAgent:
    """Return the context's agent; raises AgentFieldError if it asks no model."""
    if not isinstance(ctx.agent, LlmAgent):
        raise AgentFieldError(ctx.agent.name, "flow", ctx.agent, "an LlmAgent")
    return ctx.agent
