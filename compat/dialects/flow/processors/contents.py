"""Contents: the session's events as the model is to see them."""

from __future__ import annotations

from compat.dialects.flow.contents import contents_of, ending_with_user
from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.processors.asked import asking_agent


def build_contents(ctx: InvocationContext, request: LlmRequest, _: object) -> None:
    """Fill the request's contents from the session."""
    agent = asking_agent(ctx)
    found = contents_of(
        ctx.session.events,
        agent.name,
        ctx.profile,
        branch=ctx.branch,
        include=agent.include_contents,
    )
    request.contents[:] = ending_with_user(found, ctx.profile)
