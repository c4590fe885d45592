"""The onion around one model call: what each wrapper hands on, and what comes out.

With what a consumer is shown of a message, in the notation of traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from property_tests.remembering import kept_in
from property_tests.view import HookView, Iteration
from refengine.messages import Message, MessageChunk, chunk_of, join_chunks
from refengine.testing.notation import encoded, parse_message, show_chunk, show_message
from refengine.testing.scenario import AgentSpec, ModelWrapSpec
from refengine.testing.trace import Observation

_ASSISTANT = "assistant:"


def shown_model(message: Message, chunks: Sequence[MessageChunk] | None) -> str:
    """Return what all parts of an answer's event show together.

    Pieces of calls are shown as they come, so only their chunks tell how that looks.
    """
    if chunks is None:
        return show_message(message).removeprefix(_ASSISTANT)
    return "".join(show_chunk(each).removeprefix(_ASSISTANT) for each in chunks)


def text_of_model(event: Observation) -> str:
    """Return what an answer's event shows, as far as it came."""
    return _joined(event, _ASSISTANT)


def text_of_tool(event: Observation, call_id: str | None = None) -> str:
    """Return the text of a result's event, as far as it came.

    The message in it says whose it is: the call of the event, or that of ``call_id``.
    """
    return _joined(event, f"tool({call_id or event.call_id or ''}):")


def shown_result(text: str) -> str:
    """Return a tool's result as an event shows it."""
    return encoded(text)


def _joined(event: Observation, head: str) -> str:
    data: Any = event.data
    parts = data["stream"] if "stream" in data else [data.get("message")]
    return "".join(str(part).removeprefix(head) for part in parts)


def model_wraps_of(agent: AgentSpec) -> list[tuple[str, int]]:
    """Return names and positions of the handlers that wrap the model."""
    return [
        (each.id or f"handler-{at}", at)
        for at, each in enumerate(agent.handlers)
        if each.wrap_model is not None
    ]


def entered_of(agent: AgentSpec) -> tuple[list[str], bool]:
    """Return who is entered around a model call, and whether that reaches the model.

    A wrapper that raises when it is called is the last one.
    """
    found: list[str] = []
    for name, at in model_wraps_of(agent):
        found.append(name)
        spec = agent.handlers[at].wrap_model
        if spec is not None and spec.error is not None:
            return found, False
    return found, True


def model_wrap_of(agent: AgentSpec, hook: HookView) -> ModelWrapSpec:
    """Return what the wrapper does that was entered."""
    known = 0 <= hook.position < len(agent.handlers)
    spec = agent.handlers[hook.position].wrap_model if known else None
    return spec or ModelWrapSpec()


def request_of(spec: ModelWrapSpec, messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages that a wrapper asks the model with."""
    prefix = spec.prefix_user_input
    if prefix is not None:
        messages = [
            replace(m, content=prefix + m.content) if m.role == "user" else m
            for m in messages
        ]
    if spec.append_input is not None:
        messages = [*messages, parse_message(spec.append_input)]
    return messages


def edits_request(spec: ModelWrapSpec) -> bool:
    """Tell whether a wrapper asks with other messages than it was given."""
    return spec.prefix_user_input is not None or spec.append_input is not None


def edits_answer(spec: ModelWrapSpec) -> bool:
    """Tell whether a wrapper gives another answer than it was given."""
    return spec.map_output is not None or spec.set_content is not None


def shown_by(spec: ModelWrapSpec, names: Sequence[str]) -> list[str]:
    """Return the names of the tools that a wrapper asks with."""
    return [name for name in names if name not in spec.hide_tools]


def names_in(now: Iteration) -> list[str]:
    """Return the names of the tools that the model itself was shown."""
    if now.request is None:
        return []
    tools = cast("Sequence[Any]", now.request.data["tools"])
    return [str(info.name) for info in tools]


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
