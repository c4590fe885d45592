"""The gate of a peer: a framework's time is worth nothing if it did not do the work.

Some end a run as if all were well when their stack overflowed, and never called the
tool. So what a run did is counted, and not believed from how it ended.
"""

from __future__ import annotations

from typing import Final

from benchmarks.kinds import kind_of
from benchmarks.peers.peer import ANSWER, MODEL_CALLS, TOOL_CALLS, Seen, Variant

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
    seen = Seen()
    work = variant.build(n, seen)
    for at in range(1, times + 1):
        seen.model = seen.tool = seen.hooks = 0
        answer = await work()
        _check(f"run {at} with {n} handlers", variant, n, seen)
        if answer != ANSWER:
            raise WorkNotDoneError(f"run {at} answered {answer!r}, and not {ANSWER!r}")


def _check(run: str, variant: Variant, n: int, seen: Seen) -> None:
    hooks = kind_of(variant.ours).clause
    for part, clause, did, should in (
        ("the tool", "RUN-004", seen.tool, TOOL_CALLS),
        ("the model", "RUN-002", seen.model, MODEL_CALLS),
        ("the handlers", hooks, seen.hooks, n * variant.calls),
    ):
        if did != should:
            what = f"{run} called {part} {did} times, and not {should}"
            raise WorkNotDoneError(what, clause)
