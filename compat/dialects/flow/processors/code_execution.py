"""Code execution: stubs, as the seed's are."""

from __future__ import annotations

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import LlmRequest, LlmResponse


def prepare_code_execution(
    ctx: InvocationContext, request: LlmRequest, flow: object
) -> None:
    """Do nothing: the seed lists this processor as one that is still to come."""


def process_code_execution(
    ctx: InvocationContext, request: LlmRequest, response: LlmResponse
) -> None:
    """Do nothing: the seed lists this processor as one that is still to come."""
