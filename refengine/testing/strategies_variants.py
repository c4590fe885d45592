"""Variants of a scenario that a check compares with it; pure, no Hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from refengine.messages import Message
from refengine.testing.notation import parse_message, show_message
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    ModelChunks,
    ModelWrapSpec,
    Scenario,
    ScriptEntry,
    ToolWrapSpec,
)

IDENTITY: Final = HandlerSpec(
    id="identity",
    before_agent=(),
    before_model=(),
    after_model=(),
    after_agent=(),
    wrap_model=ModelWrapSpec(),
    wrap_invokable=ToolWrapSpec(),
    wrap_streamable=ToolWrapSpec(),
)
"""A handler that takes part in every hook and passes everything through."""


def with_identity(scenario: Scenario, position: int, *, agent: int = 0) -> Scenario:
    """Return the scenario with an identity handler put before ``handlers[position]``.

    Its id is one that no other handler has. Handlers without an id are named by their
    position, so those after it are renamed; give ids where names are compared. Raises
    IndexError if the agent has no such place, or the scenario no such agent.
    """
    agents = list(scenario.all_agents)
    spec = agents[agent]
    if not 0 <= position <= len(spec.handlers):
        raise IndexError(f"position {position} of {len(spec.handlers)} handlers")
    handlers = [_moved(each, position) for each in spec.handlers]
    handlers.insert(position, IDENTITY.model_copy(update={"id": _free_id(spec)}))
    agents[agent] = spec.model_copy(update={"handlers": tuple(handlers)})
    if scenario.agent is not None:
        return scenario.model_copy(update={"agent": agents[0]})
    return scenario.model_copy(update={"agents": tuple(agents)})


def recut(entry: ScriptEntry, cuts: Sequence[int]) -> ScriptEntry:
    """Return a plain answer in the chunks between ``cuts``, its calls on the last one.

    A cut is a number of characters of the content; the same one twice gives an empty
    chunk. Anything but a plain answer comes back as it is.
    """
    if not isinstance(entry, str):
        return entry
    message = parse_message(entry)
    text = message.content
    edges = [0, *sorted(cuts), len(text)]
    texts = [text[start:end] for start, end in pairwise(edges)]
    chunks = [Message("assistant", each) for each in texts[:-1]]
    chunks.append(Message("assistant", texts[-1], message.tool_calls))
    return ModelChunks(chunks=tuple(map(show_message, chunks)))


def _moved(handler: HandlerSpec, position: int) -> HandlerSpec:
    """Return a handler that names another one as it names it after the insertion."""
    if handler.same_as is None or handler.same_as < position:
        return handler
    return HandlerSpec(same_as=handler.same_as + 1)


def _free_id(spec: AgentSpec) -> str:
    taken = {each.id for each in spec.handlers}
    return next(name for name in _names() if name not in taken)


def _names() -> Iterable[str]:
    yield IDENTITY.id
    number = 2
    while True:
        yield f"{IDENTITY.id}-{number}"
        number += 1
