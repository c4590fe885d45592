"""Processors: what they are, and how a flow runs one.

A request processor yields events, raises, which ends the turn, or does neither and
changes the request. It may be an async generator, a plain one, or a function, sync or
async, that gives back events or nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.model import LlmRequest, LlmResponse
from compat.dialects.flow.run_errors import CallbackReturnError, ProcessorReturnError
from refengine.awaiting import settled

RequestProcessor: TypeAlias = Callable[[InvocationContext, LlmRequest, Any], object]
"""Is given context, request and flow."""

ResponseProcessor: TypeAlias = Callable[
    [InvocationContext, LlmRequest, LlmResponse], object
]
"""Gives back another response, or None for the one that it was given."""


async def events_of(
    ctx: InvocationContext,
    processor: RequestProcessor,
    index: int,
    request: LlmRequest,
    flow: object,
) -> Events:
    """Run a processor and yield its events.

    An exception leaves as it is, with a note that names agent and processor. Raises
    ProcessorReturnError for anything but events.
    """
    name = getattr(processor, "__name__", type(processor).__name__)
    try:
        async for event in _each(await settled(processor(ctx, request, flow))):
            if not isinstance(event, Event):
                raise ProcessorReturnError(ctx.agent.name, name, index, event)
            yield event
    except Exception as error:
        error.add_note(f"agent {ctx.agent.name!r}, processor {index} ({name})")
        raise


async def _each(found: object) -> AsyncIterator[object]:
    """Yield what a processor gave, one by one."""
    if isinstance(found, AsyncIterator):
        async for each in cast("AsyncIterator[object]", found):
            yield each
    elif isinstance(found, Iterable) and not isinstance(found, str):
        for each in cast("Iterable[object]", found):
            yield each
    elif found is not None:
        yield found


async def processed_response(
    ctx: InvocationContext,
    request: LlmRequest,
    response: LlmResponse,
    processors: Sequence[ResponseProcessor],
) -> LlmResponse:
    """Return the response as the processors leave it, one after the other."""
    for index, processor in enumerate(processors):
        owner = f"agent {ctx.agent.name!r}, response processor {index}"
        try:
            found = await settled(processor(ctx, request, response))
        except Exception as error:
            error.add_note(owner)
            raise
        if found is not None and not isinstance(found, LlmResponse):
            raise CallbackReturnError(owner, "response", found, "LlmResponse")
        response = response if found is None else found
    return response
