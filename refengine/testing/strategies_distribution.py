"""What the operations of a scenario distribute over: concatenation, and both kinds.

An operation on a stream distributes if doing it and then joining the chunks gives what
joining first and then doing it gives, and if it does to a stream what it does to a
result in one piece. Worlds made of such operations end the same streamed, invoked and
re-chunked (contract STR). Needs no Hypothesis: a check may ask too.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from refengine.testing.ops import Op, Spec
from refengine.testing.scenario import (
    HandlerSpec,
    MiddlewareSpec,
    ModelWrapSpec,
    ToolWrapSpec,
)

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
        "short_circuit": True,
        "rewrite_args": True,
        "set_input_name": True,
        "set_input_call_id": True,
        "call_next": True,
        "catch_error": False,  # a stream may fail after the wrapper returned it
        "prefix_result": True,
        "map_result": False,  # each chunk is put into the template
        "set_result": True,  # the constant function
        "set_stream": False,  # nothing happens to a result in one piece
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
    }
)
"""By field of a model wrap. After ``concat_stream`` there is one chunk: then all do."""


def distributes(what: Spec) -> bool:
    """Tell whether an operation, a wrap or a whole extension distributes.

    Operations of hooks do: they act where there are whole messages and no streams.
    Raises TypeError for anything that is no part of an extension.
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
    raise TypeError(f"{what!r} is no operation, wrap, handler or struct middleware")


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
