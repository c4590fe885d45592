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
            yield _keeping(ctx, agent, event, said) if agent.output_key else event


def _keeping(
    ctx: InvocationContext, agent: LlmAgent, event: Event, said: list[str]
) -> Event:
    if event.author != agent.name or event.partial or event.content is None:
        return event
    if not event.content.parts:
        return event
    posture = ctx.profile.output_key
    if posture == "final_event" and not is_final(event, ctx.profile):
        return event
    text = event.content.text
    if posture == "whole_turn":
        said.append(text)
        text = "".join(said)
    value = _value(ctx, agent, text)
    delta = {**event.actions.state_delta, agent.output_key: value}
    return replace(event, actions=replace(event.actions, state_delta=delta))


def _value(ctx: InvocationContext, agent: LlmAgent, text: str) -> Json:
    """Return what is kept; raises InvalidAnswerError for text that is no JSON."""
    if agent.output_schema is None or ctx.profile.output_value == "text":
        return text
    if not text.strip():
        return text
    try:
        return cast("Json", json.loads(text))
    except ValueError as cause:
        raise InvalidAnswerError(f"agent {agent.name!r} said {text!r}") from cause
