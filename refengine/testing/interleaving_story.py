"""How a schedule is told: which task went on, and where in its code it was.

Names do not change from run to run: a task has the name it was given, or its number in
the order in which tasks were made, and files are told without their folder.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

_KINDS: Final = ("cr", "ag", "gi")
_ASYNCIO: Final = str(Path(asyncio.__file__).parent)


def went_first(task: asyncio.Task[Any], passed: asyncio.Task[Any]) -> str:
    """Return that a task went on though it was another one's turn."""
    return f"{told_of(task)} goes on before {told_of(passed)}"


def were_held(task: asyncio.Task[Any], other: asyncio.Task[Any]) -> str:
    """Return that a task was held back and which one went on instead."""
    return f"{told_of(task)} is held back, {told_of(other)} goes on"


def told_of(task: asyncio.Task[Any]) -> str:
    """Return a task's name and where it is: function, file, line."""
    return f"{label(task)} at {place(task)}"


def label(task: asyncio.Task[Any]) -> str:
    """Return a task's own name, or its number, which is the same in every run."""
    number = getattr(task, "number", None)
    if number is None or getattr(task, "named", False):
        return repr(task.get_name())
    return "the program" if number == 0 else f"task {number}"


def place(task: asyncio.Task[Any]) -> str:
    """Return where a task that waits will go on, without asyncio's own functions."""
    frames = list(_frames(task.get_coro()))
    own = [each for each in frames if not _is_asyncio(each)] or frames
    if not own:
        return "its end"
    at = own[-1]
    code = at.f_code
    line = f"{Path(code.co_filename).name}:{at.f_lineno}"
    begins = "the start of " if _is_new(task) else ""
    return f"{begins}{code.co_qualname.rpartition('<locals>.')[2]} ({line})"


def _frames(waits: object) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, outermost first."""
    while waits is not None:
        kind = _kind_of(waits)
        if kind is None:
            waits = _inside(waits)
            continue
        frame: FrameType | None = getattr(waits, f"{kind}_frame")
        if frame is not None:
            yield frame
        waits = getattr(waits, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")


def _kind_of(waits: object) -> str | None:
    """Return how the attributes of a coroutine or generator begin."""
    return next((each for each in _KINDS if hasattr(waits, f"{each}_frame")), None)


def _inside(waits: object) -> object:
    """Return the generator or coroutine in what ``await`` made of it, if there is one.

    Python tells nobody but its collector which one that is.
    """
    if isinstance(waits, asyncio.Future):
        return None
    inside = gc.get_referents(waits)
    return next((each for each in inside if _kind_of(each) is not None), None)


def _is_asyncio(frame: FrameType) -> bool:
    return str(Path(frame.f_code.co_filename).parent) == _ASYNCIO


def _is_new(task: asyncio.Task[Any]) -> bool:
    coro = task.get_coro()
    made = inspect.CORO_CREATED
    return inspect.iscoroutine(coro) and inspect.getcoroutinestate(coro) == made
