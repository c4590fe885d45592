"""Telling a framework that refuses its input from a subject that fails.

A history without results, or a state without what a graph needs, is refused by the
framework itself; so are the arguments of a call where that ends the run, and nobody
answers. Nothing of the subject had a say in it, and a port to another framework need
not fail there. What the subject's own code raises, or lets through, is what it does
(verdicts, Domain).
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final

import refengine
from refengine.testing.tool_runs import point_of_scripted


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
    files = [_file(at) for each in _chain(error) for at in _steps(each.__traceback__)]
    if not files or not all(map(_is_foreign, files)):
        return None
    last = [_file(at) for at in _steps(error.__traceback__)][-1:]
    if any(_inside(file, _HARNESS) for file in last):
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


def _steps(at: TracebackType | None) -> Iterator[TracebackType]:
    while at is not None:
        yield at
        at = at.tb_next


def _file(at: TracebackType) -> str:
    return at.tb_frame.f_code.co_filename


_HARNESS: Final = str(Path(refengine.__file__).resolve().parent)


@cache
def _is_foreign(file: str) -> bool:
    """Tell whether a file is no one's own: Python's, the harness's, an installed one.

    A frame without a file, such as one of generated code, says nothing.
    """
    if file.startswith("<"):
        return True
    there = Path(file).resolve()
    if {"site-packages", "dist-packages"}.intersection(there.parts):
        return True
    places = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), _HARNESS)
    return any(_inside(str(there), place) for place in places)


def _inside(file: str, folder: str) -> bool:
    return Path(file).is_relative_to(folder)
