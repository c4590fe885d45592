"""Counting what a peer's run does, without touching what is measured.

With no ``Seen`` a part is used as it was written: no test, no call and no frame more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

from benchmarks.peers.peer import Seen

P = ParamSpec("P")
T = TypeVar("T")


def counted(
    work: Callable[P, Awaitable[T]],
    seen: Seen | None,
    what: Literal["model", "tool", "hooks"],
) -> Callable[P, Awaitable[T]]:
    """Return the coroutine function that adds its calls to ``what`` of ``seen``.

    It keeps its name and signature, from which frameworks make a tool's schema. Without
    a ``Seen`` it is returned as it is.
    """
    if seen is None:
        return work

    @wraps(work)
    async def counting(*args: P.args, **kwargs: P.kwargs) -> T:
        setattr(seen, what, getattr(seen, what) + 1)
        return await work(*args, **kwargs)

    return counting


def watched(part: T, hook: str, seen: Seen | None) -> T:
    """Return the part; with a ``Seen`` the calls of its method ``hook`` are counted.

    Counting leaves no frame on the stack, so a stack of such parts is as deep as one
    that does not count, and fails at the same number of them.
    """
    if seen is not None:
        setattr(part, hook, _noted(getattr(part, hook), seen))
    return part


def _noted(work: Callable[P, T], seen: Seen) -> Callable[P, T]:
    def noting(*args: P.args, **kwargs: P.kwargs) -> T:
        seen.hooks += 1
        return work(*args, **kwargs)

    return noting
