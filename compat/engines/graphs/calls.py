"""A world's tool calls as LangChain has them, and how their arguments were written.

The framework keeps arguments parsed; a world asks for the text. What the model wrote is
kept with the run, and what a wrapper wrote with the call that it passes inwards.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

from compat.engines.graphs.frame import Frame
from refengine.messages import ToolCall


def their_arguments(frame: Frame, call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments parsed; their text is found again by ``our_call``."""
    args = parsed_arguments(frame, call)
    frame.texts[call.id, call.name, _canonical(args)] = call.arguments
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
    call_id, name, args = str(call["id"] or ""), str(call["name"]), call["args"]
    text = frame.texts.get((call_id, name, _canonical(args)))
    return ToolCall(call_id, name, json.dumps(args) if text is None else text)


_PASSED: Final[ContextVar[tuple[Frame, ToolCall] | None]] = ContextVar(
    "refengine_graph_passed", default=None
)
"""The run and the call as the wrapper around it passed it inwards, with its text.

What a wrapper writes is for the wrappers inside it and the tool alone. Kept with the
texts of the run, it would be taken for what the model wrote, which may be the same in
another notation; kept with the arguments, it is lost where the framework copies them.
"""


@contextmanager
def passing(frame: Frame, call: ToolCall) -> Generator[None, None, None]:
    """Have what runs inside find the call as it is passed inwards."""
    token = _PASSED.set((frame, call))
    try:
        yield
    finally:
        _PASSED.reset(token)


def passed_call(frame: Frame, call: Mapping[str, Any]) -> ToolCall:
    """Return a call as a wrapper of ours passed it, or as ``our_call`` has it."""
    found = our_call(frame, call)
    whose, passed = _PASSED.get() or (None, found)
    if whose is not frame or (passed.id, passed.name) != (found.id, found.name):
        return found
    same = same_arguments(passed.arguments, call["args"])
    return passed if same else found


def same_arguments(text: str, args: object) -> bool:
    """Tell whether a text of arguments means these."""
    return _canonical(json.loads(text)) == _canonical(args)


def _canonical(args: object) -> str:
    return json.dumps(args, sort_keys=True)
