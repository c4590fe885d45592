"""Variants of a scenario, and what its operations distribute over; pure, no Hypothesis.

An operation on a stream distributes if doing it and then joining the chunks gives what
joining first and then doing it gives, and if it does to a stream what it does to a
result in one piece. Worlds made of such operations end the same streamed, invoked and
re-chunked (contract STR). A check may ask, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from refengine.messages import Message, MessageChunk, ToolCallChunk, join_chunks
from refengine.testing.notation import (
    parse_chunk,
    parse_message,
    show_message,
    write_chunk,
)
from refengine.testing.ops import Op, Spec
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    ModelChunks,
    ModelFailure,
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


def cut_anywhere(entry: ScriptEntry, cuts: Sequence[int]) -> ScriptEntry:
    """Return an answer in the chunks between ``cuts``, whatever it consists of.

    A cut counts characters of the content and then of the arguments of each call; one
    past the end starts from the front again, so the same cuts fit every answer. A
    failure comes back as it is, and a stream that fails does so after the last chunk.
    """
    if isinstance(entry, ModelFailure):
        return entry
    if isinstance(entry, ModelChunks):
        whole = join_chunks(map(parse_chunk, entry.chunks))
    else:
        whole = parse_message(entry)
    chunks = tuple(map(write_chunk, chunks_of(whole, cuts)))
    failure = entry.stream_error if isinstance(entry, ModelChunks) else None
    return ModelChunks(chunks=chunks, stream_error=failure)


def chunks_of(message: Message, cuts: Sequence[int]) -> list[MessageChunk]:
    """Return the chunks of a message between cuts; joined they are the message."""
    calls = message.tool_calls
    lengths = [len(message.content), *(len(call.arguments) for call in calls)]
    total = sum(lengths)
    edges = [0, *sorted(cut % (total + 1) for cut in cuts), total]
    chunks: list[MessageChunk] = []
    for at, (start, end) in enumerate(pairwise(edges)):
        last = at == len(edges) - 2
        text = message.content[start:end]
        pieces = _pieces(message, lengths, (start, end + last))
        chunks.append(MessageChunk(text, pieces))
    named = (message.id, message.name, message.extra)
    chunks[-1] = MessageChunk(chunks[-1].content, chunks[-1].tool_calls, *named)
    return chunks


def _pieces(
    message: Message, lengths: Sequence[int], span: tuple[int, int]
) -> tuple[ToolCallChunk, ...]:
    """Return the pieces of calls within a span; the first of a call has its name.

    A call stands where its arguments begin, so one without any is found as well.
    """
    found: list[ToolCallChunk] = []
    offset = lengths[0]
    for index, call in enumerate(message.tool_calls):
        start, end = (max(each - offset, 0) for each in span)
        text = call.arguments[start:end]
        if span[0] <= offset < span[1]:
            found.append(ToolCallChunk(index, call.id, call.name, text))
        elif text:
            found.append(ToolCallChunk(index, "", "", text))
        offset += lengths[index + 1]
    return tuple(found)


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


TOOL_WRAP: Final = MappingProxyType(
    {
        "record_factory": True,
        "count_factory": True,
        "factory_error": True,
        "record": True,
        "record_enter": True,
        "closure_counter": True,
        "by_tool": True,  # as far as the wraps in it do
        "runlocal_get": True,
        "ctx_append": True,
        "error": True,
        "interrupt": True,
        "ask": True,  # at the latest when ``next`` has come back, stream or not
        "set_options": True,
        "clear_options": True,
        "short_circuit": True,
        "rewrite_args": True,
        "set_input_name": True,
        "set_input_call_id": True,
        "new_input": True,
        "new_ctx": True,
        "call_next": True,
        "in_place": True,
        "error_instead": False,
        "catch_error": False,  # a stream may fail after the wrapper returned it
        "prefix_result": True,
        "map_result": False,  # each chunk is put into the template
        "set_result": True,  # the constant function
        "set_stream": False,  # nothing happens to a result in one piece
        "stream_error": False,  # as set_stream
    }
)
"""By field of a tool wrap."""

MODEL_WRAP: Final = MappingProxyType(
    {
        "record_factory": True,
        "record": True,
        "error": True,
        "interrupt": True,
        "ask": True,
        "map_output": False,  # each chunk is put into the template
        "set_content": False,  # each chunk becomes the whole content
        "concat_stream": True,
        "prefix_user_input": True,
        "append_input": True,
        "hide_tools": True,
        "hide_on_call": True,
        "set_options": True,
        "clear_options": True,
        "options_on_call": True,
    }
)
"""By field of a model wrap. After ``concat_stream`` there is one chunk: then all do."""


def distributes(what: Spec) -> bool:
    """Tell whether an operation, a wrap or a whole extension distributes.

    Operations of hooks do: they act where there are whole messages and no streams.
    Raises TypeError for anything that is not part of an extension.
    """
    if isinstance(what, Op):
        return True
    if isinstance(what, ToolWrapSpec):
        return _all(what, TOOL_WRAP) and all(map(distributes, what.by_tool.values()))
    if isinstance(what, ModelWrapSpec):
        return what.concat_stream or _all(what, MODEL_WRAP)
    if isinstance(what, HandlerSpec):
        wraps = what.wrap_invokable, what.wrap_streamable
        model = what.wrap_model
        return _alike(*wraps) and (model is None or distributes(model))
    if isinstance(what, MiddlewareSpec):
        wraps = what.wrap_tool_call.invokable, what.wrap_tool_call.streamable
        return _alike(*wraps)
    raise TypeError(f"{what!r} is not an operation, wrap, handler or struct middleware")


def _all(wrap: Spec, table: MappingProxyType[str, bool]) -> bool:
    """Tell whether every field that does something distributes."""
    default = type(wrap)()
    return all(
        table[field]
        for field in table
        if getattr(wrap, field) != getattr(default, field)
    )


def _alike(invokable: ToolWrapSpec | None, streamable: ToolWrapSpec | None) -> bool:
    """Tell whether both kinds of a tool are wrapped, in the same way."""
    if invokable is None or streamable is None:
        return invokable is streamable
    return invokable == streamable and distributes(invokable)
