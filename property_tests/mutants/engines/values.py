"""Engines that lose what hooks write: run-local values, options, edits in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import at_point

IN_PLACE: Final = (
    "What a hook edits in place is what it leaves, and is seen by nobody outside."
)


class _TrueLocals(dict[str, object]):
    """Run-local values, none of which is false, 0, empty or null."""

    def __setitem__(self, key: str, value: object) -> None:
        if value:
            super().__setitem__(key, value)


def _locals_as(kind: Callable[[], dict[str, object]]) -> Patch:
    """Let a run that is not kept hold its run-local values otherwise."""

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            if self.machine.types is None:
                self.locals = kind()
                self.ctx = at_point(self.ctx, self.run_path, None, self.locals)
            return right(self)

        return start

    return patch("loop.start", replaced)


def _into_the_callers_list() -> Sequence[Patch]:
    """Write what before-hooks leave into the list that the caller gave."""
    given: list[Given] = []

    def running(right: Right) -> Right:
        def run(self: Given, messages: Given, *more: Given, **how: Given) -> Given:
            given[:] = [messages]
            return right(self, messages, *more, **how)

        return run

    def writing(right: Right) -> Right:
        async def before_model(self: Given) -> Given:
            before = self.history
            ctx = await right(self)
            if self.history is not before and isinstance(given[0], list):
                given[0][:] = list(self.history.without(self.first))
            return ctx

        return before_model

    return patch("agent.run", running), patch("loop.before_model", writing)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "true-run-locals",
        "A run-local value that is false, 0, empty or null is not set.",
        "CTX-013",
        _locals_as(_TrueLocals),
    ),
    wrong(
        "callers-list-rewritten",
        "What before-model hooks leave is written into the caller's list.",
        "MSG-016",
        PatchedDoor("callers-list-rewritten", _into_the_callers_list),
    ),
)
