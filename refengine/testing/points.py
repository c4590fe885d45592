"""Where an error arose, in the words that observations of engines use.

Errors are compared by point, not by text: texts differ between engines and versions.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final

import refengine
from refengine.errors import (
    HookError,
    HookReturnError,
    MaxIterationsExceededError,
    ModelError,
    NoCheckpointsError,
    NoMessagesLeftError,
    NotKeepableError,
    RetriesExhaustedError,
    RoutingError,
    ToolError,
    ToolNotFound,
    ToolResultTypeError,
    UnansweredCallsError,
)
from refengine.resume.errors import (
    ChangedAgentError,
    JournalledError,
    NotResumableError,
    UnknownInterruptError,
)
from refengine.state.errors import StateError
from refengine.state.store_errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
)
from refengine.testing.tool_runs import point_of_scripted
from refengine.testing.wrapping import FactoryError

_STRUCT_HOOKS: Final = frozenset(("before_chat_model", "after_chat_model"))
"""A struct has no name that others know, so no ``of`` is told with these."""
_STRUCT_FACTORY: Final = "wrap_tool_call"
_OF_TOOL: Final = {
    "wrap_invokable_tool_call": "wrap_invokable",
    "wrap_streamable_tool_call": "wrap_streamable",
}
"""The wrappers of handlers around tools; those of structs are told by their field."""
_OF_CHECKPOINTS: Final = (
    ChangedAgentError,
    CheckpointConflictError,
    CheckpointNotFoundError,
    NoCheckpointsError,
    NotKeepableError,
    NotResumableError,
    StateError,
    UnknownInterruptError,
)
_POINT_OF_HOOK: Final = {
    "before_agent": "before_agent",
    "before_model_rewrite_history": "before_model",
    "after_model_rewrite_history": "after_model",
    "after_agent": "after_agent",
    "wrap_model_call": "model",
}


def point_of(  # noqa: C901, PLR0911  # a table: one return a cause
    error: BaseException,
) -> dict[str, str]:
    """Return ``point``, and ``of``, ``call``, ``text`` and ``is`` where known.

    A wrapper that raised inside a call is told there with ``hook`` and, if others know
    its name, ``by``.
    """
    if isinstance(error, HookError):
        return _of_hook(error)
    if isinstance(error, ToolError):
        text = str(error.cause)
        return {"point": "tool", "of": error.tool, "call": error.call_id, "text": text}
    if isinstance(error, ModelError):
        return {"point": "model", "text": str(error.cause), "is": str(error.cause)}
    if isinstance(error, RetriesExhaustedError):
        last = str(getattr(error.last, "cause", error.last))
        return {"point": "retry_exhausted", "text": str(error), "is": last}
    if isinstance(error, _OF_CHECKPOINTS):
        return {"point": "checkpoint", "text": str(error)}
    if isinstance(error, ToolNotFound):
        return {"point": "unknown_tool", "of": error.name, "text": str(error)}
    if isinstance(error, (NoMessagesLeftError, RoutingError, UnansweredCallsError)):
        return {"point": "routing", "text": str(error)}
    if isinstance(error, MaxIterationsExceededError):
        return {"point": "max_iterations", "text": str(error)}
    if isinstance(error, HookReturnError):
        if error.hook in _STRUCT_HOOKS:
            return {"point": error.hook, "text": str(error)}
        point = _POINT_OF_HOOK.get(error.hook, "tool")
        return {"point": point, "text": str(error), **_whose(error)}
    if isinstance(error, ToolResultTypeError):
        return {"point": "tool", "of": error.tool, "text": str(error)}
    return {"point": "harness", "text": f"{type(error).__name__}: {error}"}


def _of_hook(error: HookError) -> dict[str, str]:
    text = str(error.cause)
    point = _POINT_OF_HOOK.get(error.hook)
    if error.hook in _STRUCT_HOOKS:
        return {"point": error.hook, "text": text}
    if point is not None:
        return {"point": point, "of": error.handler, "text": text}
    if isinstance(error.cause, FactoryError):
        return {"point": "wrap_invokable", "text": text, **_whose(error)}
    return {
        "point": "tool",
        "of": error.tool or error.handler,
        "call": error.call_id or "",
        "text": text,
        "hook": _OF_TOOL.get(error.hook, error.hook),
        **({"by": error.handler} if error.hook in _OF_TOOL else {}),
    }


def _whose(error: HookError | HookReturnError) -> dict[str, str]:
    return {} if error.hook == _STRUCT_FACTORY else {"of": error.handler}


def class_of(error: BaseException) -> str:
    """Return the name of the class that was raised, inside what wraps it."""
    cause = getattr(error, "cause", None)
    inner = cause if isinstance(cause, Exception) else error
    # Of a call that had failed before the run went on, the name of the class is kept.
    return inner.kind if isinstance(inner, JournalledError) else type(inner).__name__


# Telling a framework that refuses its input from a subject that fails. A history
# without results, or a state without what a graph needs, is refused by the framework
# itself; so are the arguments of a call where that ends the run, and nobody answers.
# Nothing of the subject had a say in it, and a port to another framework need not fail
# there. What the subject's own code raises, or lets through, is what it does (verdicts,
# Domain).


def refusal(
    error: BaseException, answered: tuple[type[BaseException], ...]
) -> str | None:
    """Return what a framework said when it refused its input, None if it did not.

    Not where a script or the harness failed, nor where a line of the subject's own
    stands between the framework and its caller. Errors that are ``answered`` say
    something of what a subject did, and not of what it was given.
    """
    if isinstance(error, answered) or point_of_scripted(error) is not None:
        return None
    files = [
        file_of(at) for each in _chain(error) for at in steps_of(each.__traceback__)
    ]
    if not files or not all(map(is_foreign, files)):
        return None
    last = [file_of(at) for at in steps_of(error.__traceback__)][-1:]
    if any(map(_is_harness, last)):
        return None
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it comes from, each once."""
    seen: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and all(inner is not each for each in seen):
        yield inner
        seen.append(inner)
        inner = inner.__cause__ or inner.__context__


def steps_of(at: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the steps of a traceback, outermost first."""
    while at is not None:
        yield at
        at = at.tb_next


def file_of(at: TracebackType) -> str:
    """Return the file of a step."""
    return at.tb_frame.f_code.co_filename


_HERE: Final = Path(refengine.__file__).resolve().parent
_HARNESS: Final = (str(_HERE), str(_HERE.with_name("compat")))


def _is_harness(file: str) -> bool:
    return any(_inside(file, place) for place in _HARNESS)


@cache
def is_foreign(file: str) -> bool:
    """Tell whether a file is no one's own: Python's, the harness's, an installed one.

    A frame without a file, such as one of generated code, says nothing.
    """
    if file.startswith("<"):
        return True
    there = Path(file).resolve()
    if {"site-packages", "dist-packages"}.intersection(there.parts):
        return True
    libraries = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    return any(_inside(str(there), place) for place in (*libraries, *_HARNESS))


def _inside(file: str, folder: str) -> bool:
    return Path(file).is_relative_to(folder)
