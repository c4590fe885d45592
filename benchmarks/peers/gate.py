"""The gate of a peer: a framework's time is worth nothing if it did not do the work.

What its run does is counted without touching what is measured: with no ``PeerCounts``
a part is used as it was written: no test, no call and no frame more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Final, Literal, ParamSpec, TypeVar

from benchmarks.kinds import kind_of
from benchmarks.peers.peer import ANSWER, MODEL_CALLS, TOOL_CALLS, PeerCounts, Variant

P = ParamSpec("P")
T = TypeVar("T")


def counted(
    work: Callable[P, Awaitable[T]],
    seen: PeerCounts | None,
    what: Literal["model", "tool", "hooks"],
) -> Callable[P, Awaitable[T]]:
    """Return the coroutine function that adds its calls to ``what`` of ``seen``.

    It keeps its name and signature, from which frameworks make a tool's schema. Without
    ``PeerCounts`` it is returned as it is.
    """
    if seen is None:
        return work

    @wraps(work)
    async def counting(*args: P.args, **kwargs: P.kwargs) -> T:
        setattr(seen, what, getattr(seen, what) + 1)
        return await work(*args, **kwargs)

    return counting


def watched(part: T, hook: str, seen: PeerCounts | None) -> T:
    """Return the part; with ``PeerCounts`` calls of its method ``hook`` are counted.

    Counting leaves no frame on the stack, so a stack of such parts is as deep as one
    that does not count, and fails at the same number of them.
    """
    if seen is not None:
        setattr(part, hook, _noted(getattr(part, hook), seen))
    return part


def _noted(work: Callable[P, T], seen: PeerCounts) -> Callable[P, T]:
    def noting(*args: P.args, **kwargs: P.kwargs) -> T:
        seen.hooks += 1
        return work(*args, **kwargs)

    return noting


TIMES: Final = 3
"""How often a run is tried: state left over from one time would show the next."""


class WorkNotDoneError(AssertionError):
    """A run that ended without an error and did not do what it is measured for.

    ``clause`` is the sentence of the contract that it did not keep, if there is one.
    """

    def __init__(self, what: str, clause: str | None = None) -> None:
        self.what = what
        self.clause = clause
        super().__init__(what)


async def admit(variant: Variant, n: int, times: int = TIMES) -> None:
    """See that runs with ``n`` handlers do their work, several in a row.

    Raises WorkNotDoneError, and whatever the framework raises.
    """
    seen = PeerCounts()
    work = variant.build(n, seen)
    for at in range(1, times + 1):
        seen.model = seen.tool = seen.hooks = 0
        answer = await work()
        _check(f"run {at} with {n} handlers", variant, n, seen)
        if answer != ANSWER:
            raise WorkNotDoneError(f"run {at} answered {answer!r}, and not {ANSWER!r}")


def _check(run: str, variant: Variant, n: int, seen: PeerCounts) -> None:
    hooks = kind_of(variant.ours).clause
    for part, clause, did, should in (
        ("the tool", "RUN-004", seen.tool, TOOL_CALLS),
        ("the model", "RUN-002", seen.model, MODEL_CALLS),
        ("the handlers", hooks, seen.hooks, n * variant.calls),
    ):
        if did != should:
            what = f"{run} called {part} {did} times, and not {should}"
            raise WorkNotDoneError(what, clause)
