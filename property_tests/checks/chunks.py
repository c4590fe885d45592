"""The chunks that a consumer is given, worked out from what model and tools gave.

Each function takes what the innermost point gave and lets the wrappers of a call act on
it, from the inside outwards, as the scenario says they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from property_tests.checks.outcomes import raised_in
from property_tests.checks.passages import Passage, PassageStep, origin
from property_tests.view import Call, HookView, Iteration
from refengine.messages import MessageChunk, chunk_of, join_chunks
from refengine.testing.scenario import AgentSpec, ModelWrapSpec, ToolWrapSpec
from refengine.testing.trace import Observation


def of_model(agent: AgentSpec, now: Iteration) -> list[MessageChunk] | None:
    """Return the chunks of an answer as they leave the model onion.

    None if a wrapper needs the whole of an answer that broke off.
    """
    chunks = [
        cast("MessageChunk", each.data["chunk"])
        for each in now.entries
        if each.kind == "model_chunk"
    ]
    for hook in reversed(now.model_wraps):
        spec = _model_wrap(agent, hook)
        if spec is None or (spec.concat_stream and now.response is None):
            return None
        if spec.concat_stream:
            chunks = [chunk_of(join_chunks(chunks))]
        chunks = [replace(each, content=_edited(spec, each.content)) for each in chunks]
    return chunks


def _model_wrap(agent: AgentSpec, hook: HookView) -> ModelWrapSpec | None:
    if not 0 <= hook.position < len(agent.handlers):
        return None
    return origin(agent, hook.position)[1].wrap_model


def _edited(spec: ModelWrapSpec, content: str) -> str:
    if spec.map_output is not None:
        content = spec.map_output.replace("<content>", content)
    return content if spec.set_content is None else spec.set_content


def of_tool(call: Call, name: str, way: Passage) -> list[str] | None:
    """Return the chunks of a result as they leave the tool onion; None if unknown."""
    found: _Given | None = None
    if way.steps:
        outermost = [step for step in way.steps if step.outer is None][-1]
        if not outermost.raised:
            found = _of_step(call, name, way, outermost)
    elif call.starts:
        found = _given(call, call.starts[-1])
    return None if found is None else found[0]


_Given: TypeAlias = "tuple[list[str], bool]"
"""Chunks, and whether they are all of a stream: one may break off."""


def _of_step(call: Call, name: str, way: Passage, step: PassageStep) -> _Given | None:
    """Return what a layer gave that returned."""
    spec = step.layer.acting(name)
    if spec.error is not None:
        return None
    if spec.short_circuit is not None:
        return [spec.short_circuit], True
    failed = raised_in(call, name, way, step)
    if failed is not None and spec.catch_error is not None:
        return [spec.catch_error.replace("<error>", failed.text)], True
    if failed is not None or not step.inner:
        return None
    last = step.inner[-1]
    if isinstance(last, Observation):
        inner: _Given | None = _given(call, last)
    else:
        inner = None if last.raised else _of_step(call, name, way, last)
    return None if inner is None else _after(spec, *inner)


def _given(call: Call, start: Observation) -> _Given:
    """Return the chunks that an execution gave."""
    found = [
        str(each.data["chunk"])
        for each in call.entries
        if each.kind == "tool_chunk" and each.seq > start.seq
    ]
    return found, bool(call.ends)


def _after(spec: ToolWrapSpec, inner: Sequence[str], whole: bool) -> _Given:
    """Return the chunks that a wrap makes of those it was given."""
    if spec.set_result is not None:
        return [spec.set_result], True
    if spec.set_stream is not None:
        return list(spec.set_stream), True
    chunks = list(inner)
    if spec.prefix_result is not None:
        if chunks:
            chunks[0] = spec.prefix_result + chunks[0]
        elif whole and spec.prefix_result:
            chunks = [spec.prefix_result]
    if spec.map_result is not None:
        chunks = [spec.map_result.replace("<result>", each) for each in chunks]
    return chunks, whole
