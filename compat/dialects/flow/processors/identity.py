"""Identity: who the agent is; a stub in the seed, real in other versions."""

from __future__ import annotations

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import LlmRequest


def tell_identity(ctx: InvocationContext, request: LlmRequest, _: object) -> None:
    """Tell the model its agent's name and description, where the profile does."""
    if ctx.profile.identity == "stub":
        return
    said = f"You are the agent with the internal name `{ctx.agent.name}`."
    if ctx.agent.description:
        said += f" You are described as: {ctx.agent.description}"
    request.append_instructions(said)
