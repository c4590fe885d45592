"""Errors that an engine made itself, in the words of the harness.

What a driver says by ``kind`` is stable; its texts are for people, and never compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from refengine.errors import (
    HookError,
    MaxIterationsExceededError,
    NoMessagesLeftError,
    RefengineError,
    RoutingError,
    ToolError,
    ToolNotFound,
    UnansweredCallsError,
    error,
)
from refengine.testing.blaming import blame


@error
class EngineFailedError(RefengineError):
    """An engine behind a driver failed with an error of its own."""

    said: str
    kind: str = ""
    says = "the engine failed by itself: {said}"


_TOOL: Final = re.compile(r"tool (.+?) not found", re.DOTALL)


def _unknown_tool(text: str, _: int) -> Exception:
    found = _TOOL.search(text)
    return ToolNotFound(found[1] if found else "?", ())


KINDS: Final[Mapping[str, Callable[[str, int], Exception]]] = MappingProxyType(
    {
        "max_iterations": lambda _, limit: MaxIterationsExceededError(limit),
        "unknown_tool": _unknown_tool,
        "no_messages_left": lambda _text, _limit: NoMessagesLeftError(),
        "routing": lambda text, _: RoutingError(text, "?"),
        "unanswered_calls": lambda text, _: UnansweredCallsError(text.split(", ")),
    }
)
"""What an error of that kind is here; one of no other is an EngineFailedError."""


def said_by_engine(
    text: str, data: Mapping[str, Any], max_iterations: int
) -> Exception:
    """Return the error that a driver told of, which is none of the harness's."""
    kind = data.get("kind", "")
    if "place" in data:
        return of_subject(text, data.get("name") or "error", data["place"])
    make = KINDS.get(kind)
    return EngineFailedError(text, kind) if make is None else make(text, max_iterations)


@error
class SubjectMistakeError(RefengineError):
    """A user's extensions cannot be loaded, or are none; ``kind`` says which it is."""

    kind: str
    text: str
    says = "{text}"


class SubjectFailedError(Exception):
    """A subject behind a driver failed; its class is called as that of its error."""


@cache
def _class_of(name: str) -> type[SubjectFailedError]:
    return type(name, (SubjectFailedError,), {})


def name_of_subjects(name: str) -> str:
    """Return what an extension of a subject is called in errors.

    Its author may have called it as a neighbour is called, which errors go on to name.
    """
    return f"the subject's {name}"


def of_subject(text: str, kind: str, place: Mapping[str, Any]) -> Exception:
    """Return an error of a subject, with where it arose noted.

    ``kind`` is what its class is called, and ``text`` is for people.
    """
    error = _class_of(kind)(text)
    tool, call_id = place.get("tool"), place.get("call_id")
    if "hook" in place:
        where = {"tool": tool, "call_id": call_id}
        name = name_of_subjects(place["of"])
        blame(error, HookError(name, 0, place["hook"], error, **where))
    else:
        blame(error, ToolError(tool or "", call_id or "", error))
    return error
