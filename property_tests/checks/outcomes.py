"""What raised in a run and how it ended, read from a trace and the scenario's data.

A hook that was entered and not left has raised: the hooks of a world wait for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from property_tests.checks.passages import (
    Passage,
    PassageLayer,
    PassageStep,
    calls_next,
)
from property_tests.view import Call
from refengine.testing.trace import Observation

STRUCT_HOOKS: Final = frozenset(("before_chat_model", "after_chat_model"))
PIPELINES: Final = STRUCT_HOOKS | {
    "before_agent",
    "before_model",
    "after_model",
    "after_agent",
}


@dataclass(frozen=True, slots=True)
class Failed:
    """What ends a call with an error: the error's text, and whose it is.

    ``handler`` is the position of the one whose wrapper could not be made; ``wrapper``
    is the layer that raised when it was called. If both are None, the tool raised.
    """

    text: str
    handler: int | None = None
    wrapper: PassageLayer | None = None


def fate(call: Call, name: str, way: Passage) -> Failed | None:
    """Return what leaves a call's onion as an error; None if nothing does.

    Also None where the trace does not tell, as for a call that was cancelled.
    """
    if not way.steps:
        return _inside(call, name, way, None)
    outermost = [step for step in way.steps if step.outer is None][-1]
    if outermost.raised:
        return raised_by(call, name, way, outermost)
    return _in_stream(call, way)


def raised_by(call: Call, name: str, way: Passage, step: PassageStep) -> Failed | None:
    """Return what leaves a layer as an error: its own, or what was raised inside."""
    own = step.layer.acting(name).error
    if own is not None:
        return Failed(own, wrapper=step.layer)
    return raised_in(call, name, way, step)


def raised_in(call: Call, name: str, way: Passage, step: PassageStep) -> Failed | None:
    """Return what was raised inside a layer, by the last call of its ``next``."""
    if not calls_next(step.layer.acting(name)):
        return None
    if not step.inner:
        return _inside(call, name, way, step)
    last = step.inner[-1]
    if isinstance(last, PassageStep):
        return raised_by(call, name, way, last) if last.raised else None
    return _by_tool(call, last)


def _inside(
    call: Call, name: str, way: Passage, step: PassageStep | None
) -> Failed | None:
    """Return what was raised where no further layer was entered."""
    depth = 0 if step is None else step.depth + 1
    if depth < len(way.layers):
        layer = way.layers[depth]
        text = layer.factory_error(name)
        return None if text is None else Failed(text, layer.position)
    if step is None and call.starts:
        return _by_tool(call, call.starts[-1]) or _in_stream(call, way)
    return None


def _by_tool(call: Call, start: Observation) -> Failed | None:
    """Return what an execution raised at once; None if it got on."""
    for seen in call.entries:
        if seen.seq <= start.seq or seen.kind == "effect":
            continue
        if seen.kind == "tool_error":
            return Failed(str(seen.data.get("error")))
        return None
    return None


def _in_stream(call: Call, way: Passage) -> Failed | None:
    """Return what a result's stream raised, after the wrappers had returned it."""
    if way.kind != "streamable":
        return None
    chunked = False
    for seen in call.entries:
        chunked = chunked or seen.kind == "tool_chunk"
        if seen.kind == "tool_error" and chunked:
            return Failed(str(seen.data.get("error")))
    return None
