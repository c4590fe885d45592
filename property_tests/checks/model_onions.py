"""The onion around one model call: what comes out of it."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from property_tests.remembering import kept_in
from property_tests.view import HookView, Iteration
from refengine.messages import Message, MessageChunk, chunk_of, join_chunks
from refengine.testing.scenario import AgentSpec, ModelWrapSpec


def model_wrap_of(agent: AgentSpec, hook: HookView) -> ModelWrapSpec:
    """Return what the wrapper does that was entered."""
    known = 0 <= hook.position < len(agent.handlers)
    spec = agent.handlers[hook.position].wrap_model if known else None
    return spec or ModelWrapSpec()


def answered_by(spec: ModelWrapSpec, answer: Message) -> Message:
    """Return an answer in one piece as a wrapper changes it."""
    return replace(answer, content=_text(spec, answer.content))


def chunks_of(agent: AgentSpec, now: Iteration) -> list[MessageChunk] | None:
    """Return the chunks that come out of the onion; None if it gave none."""
    return kept_in(now, chunks_of, lambda: _chunks(agent, now))


def _chunks(agent: AgentSpec, now: Iteration) -> list[MessageChunk] | None:
    seen = [each for each in now.entries if each.kind == "model_chunk"]
    if not seen or now.response is None:
        return None
    chunks = [cast("MessageChunk", each.data["chunk"]) for each in seen]
    for hook in reversed(now.model_wraps):
        spec = model_wrap_of(agent, hook)
        if spec.concat_stream:
            chunks = [chunk_of(join_chunks(chunks))]
        chunks = [replace(c, content=_text(spec, c.content)) for c in chunks]
    return chunks


def answer_of(agent: AgentSpec, now: Iteration) -> Message | None:
    """Return the answer that comes out of the onion; None if there is none."""
    return kept_in(now, answer_of, lambda: _answer(agent, now))


def _answer(agent: AgentSpec, now: Iteration) -> Message | None:
    answer = now.message
    if answer is None or now.model_error is not None or now.asks_around_model:
        return None
    chunks = chunks_of(agent, now)
    if chunks is not None:
        return join_chunks(chunks)
    for hook in reversed(now.model_wraps):
        answer = answered_by(model_wrap_of(agent, hook), answer)
    return answer


def _text(spec: ModelWrapSpec, content: str) -> str:
    if spec.map_output is not None:
        content = spec.map_output.replace("<content>", content)
    return content if spec.set_content is None else spec.set_content
