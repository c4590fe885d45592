"""Auth: a stub, as the seed's is."""

from __future__ import annotations

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import LlmRequest


def prepare_auth(ctx: InvocationContext, request: LlmRequest, flow: object) -> None:
    """Do nothing: the seed lists this processor as one that is still to come."""
