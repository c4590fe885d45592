"""A world's tool calls as LangChain has them, and how their arguments were written.

The framework keeps arguments parsed; a world asks for the text. What the model wrote is
kept with the run, and what a wrapper wrote with the call that it passes inwards.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, cast

from compat.engines.graphs.frame import Frame
from refengine.messages import ToolCall

_Key: TypeAlias = tuple[str, str, str]
"""Id and name of a call, and what its arguments mean, however they were written."""


def their_arguments(frame: Frame, call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments parsed; their text is found again by ``our_call``."""
    args = parsed_arguments(frame, call)
    frame.texts[_key({"id": call.id, "name": call.name, "args": args})] = call.arguments
    return args


def parsed_arguments(frame: Frame, call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments parsed; refuses what is not a JSON object."""
    try:
        parsed: object = json.loads(call.arguments)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        frame.refuse("arguments_text", f"call {call.id!r} of tool {call.name!r}")
    return cast("dict[str, Any]", parsed)


def our_call(frame: Frame, call: Mapping[str, Any]) -> ToolCall:
    """Return a call with its arguments as they were written, if that is known."""
    key = _key(call)
    return _written(key, call, frame.texts.get(key))


_PASSED: Final[ContextVar[tuple[Frame, _Key, str] | None]] = ContextVar(
    "refengine_graph_passed", default=None
)
"""The run, the call that the wrapper around it passed inwards, and how it was written.

What a wrapper writes is for the wrappers inside it and the tool alone. Kept with the
texts of the run, it would be taken for what the model wrote, which may be the same in
another notation; kept with the arguments, it is lost where the framework copies them.
"""


@contextmanager
def passing(
    frame: Frame, call: Mapping[str, Any], text: str
) -> Generator[None, None, None]:
    """Have what runs inside find how the arguments of this call were written."""
    token = _PASSED.set((frame, _key(call), text))
    try:
        yield
    finally:
        _PASSED.reset(token)


def passed_call(frame: Frame, call: Mapping[str, Any]) -> ToolCall:
    """Return a call as a wrapper of ours passed it, or as ``our_call`` has it."""
    key, passed = _key(call), _PASSED.get()
    if passed is not None and passed[0] is frame and passed[1] == key:
        return _written(key, call, passed[2])
    return _written(key, call, frame.texts.get(key))


def _written(key: _Key, call: Mapping[str, Any], text: str | None) -> ToolCall:
    return ToolCall(*key[:2], json.dumps(call["args"]) if text is None else text)


def _key(call: Mapping[str, Any]) -> _Key:
    meant = json.dumps(call["args"], sort_keys=True)
    return str(call["id"] or ""), str(call["name"]), meant
