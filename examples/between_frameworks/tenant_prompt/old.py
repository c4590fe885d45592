"""Tells the model for whom it speaks: a prompt for each model call."""

from __future__ import annotations

from typing import Any, Final, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt

from refengine.testing import World

LINE: Final = "You speak for {}."


class Caller(TypedDict, total=False):
    """What a caller says of himself."""

    tenant: str


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[tenant],
        context_schema=Caller,
    )


@dynamic_prompt
def tenant(request: ModelRequest[Any]) -> str:
    """Return the prompt, and one more line."""
    told = (request.runtime.context or {}).get("tenant", "everybody")
    return "\n\n".join(filter(None, [request.system_prompt, LINE.format(told)]))
