"""``output_key``: what an agent said, kept in the state under a name."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from compat.dialects.flow.agents import LlmAgent
from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.merging import is_final
from compat.dialects.flow.run_errors import InvalidAnswerError
from refengine.messages import Json


async def keeping_output(
    ctx: InvocationContext, agent: LlmAgent, events: Events
) -> Events:
    """Yield the events; those that say something carry it in their delta as well.

    An event of another agent, after a transfer, and a partial one keep nothing.
    """
    said: list[str] = []
    async with aclosing(events) as flowing:
        async for event in flowing:
            yield with_output(ctx, agent, event, said)


def with_output(
    ctx: InvocationContext, agent: LlmAgent, event: Event, said: list[str]
) -> Event:
    """Return the event, with what is kept of it in its delta.

    ``said`` is what the agent said before in this turn, and grows.
    """
    if not agent.output_key or event.author != agent.name or event.partial:
        return event
    if event.content is None or not event.content.parts:
        return event
    value = _value(ctx, agent, event, event.content.text, said)
    if value is None:
        return event
    delta = {**event.actions.state_delta, agent.output_key: value}
    return replace(event, actions=replace(event.actions, state_delta=delta))


def _value(
    ctx: InvocationContext, agent: LlmAgent, event: Event, text: str, said: list[str]
) -> Json:
    """Return what is kept of a text; None if nothing is.

    Where it is that of the turn, an event without text adds nothing to it. Raises
    InvalidAnswerError for text that is to be JSON and is none.
    """
    posture = ctx.profile.output_key
    parsed = agent.output_schema is not None and ctx.profile.output_value == "parsed"
    if posture == "whole_turn" and not text:
        return None
    if posture == "whole_turn" and not parsed:
        said.append(text)
        return "".join(said)
    if posture == "each_event" and agent.output_schema is not None and not text.strip():
        return None
    if posture != "each_event" and not is_final(event, ctx.profile):
        return None
    if not parsed:
        return text
    return _parsed(agent, text) if text.strip() else None


def _parsed(agent: LlmAgent, text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except ValueError as cause:
        raise InvalidAnswerError(f"agent {agent.name!r} said {text!r}") from cause
