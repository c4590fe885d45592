"""Errors of a world as a framework's subject may meet them: of the class it names."""

from __future__ import annotations

import builtins
from typing import Final, Literal

from refengine.testing.scripted import ScriptedError

POINT: Final = "__refengine_point__"
"""The attribute that says where a scripted error was raised."""


def scripted_error(name: str, point: Literal["model", "tool"]) -> Exception:
    """Return the error that a scenario asked for.

    One named like an exception of Python's own, such as ``TimeoutError``, is of that
    class too: what a subject retries or answers is told by class.
    """
    kind: object = getattr(builtins, name, None)
    error = ScriptedError(name)
    if isinstance(kind, type) and issubclass(kind, Exception):
        # The class is made here, since which ones a world has need of is its own data.
        made = type(name, (ScriptedError, kind), {"__module__": "builtins"})
        error = made(name)
    setattr(error, POINT, point)
    return error


def point_of_scripted(error: BaseException) -> str | None:
    """Return where a scripted error was raised, also behind what wraps it."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        found: object = getattr(inner, POINT, None)
        if isinstance(found, str):
            return found
        seen.add(id(inner))
        inner = inner.__cause__ or inner.__context__
    return None
