"""Keeping a run: each step is written as what changed since the last one (§5).

One ``StepWriter`` is one run of an agent that keeps its runs, or that only looks at
what could be kept (``strict_state``); for all others there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from refengine.errors import HookReturnError, ToolResultTypeError
from refengine.interrupts import Pending
from refengine.messages import History, Json, Message
from refengine.resume.checkpoint import GONE, Keeper, Point, Saved, Splice, Start, Step
from refengine.resume.journal import Journal
from refengine.resume.keepable import (
    CheckedLocals,
    check_all,
    check_context,
    check_message,
    check_new,
    packed,
)

if TYPE_CHECKING:
    from refengine.chain import LayerName
    from refengine.context import Context, RunLocals
    from refengine.profile import Profile
    from refengine.resume.checkpoint import TypeRegistry


State: TypeAlias = "tuple[Context, Sequence[Message]]"
"""What a hook is given, and leaves."""


class StepWriter:
    """What is kept of one run so far, and where to.

    ``key`` is None in a run that nobody asked to keep: it is looked at all the same, so
    that a handler is not found at fault on the day somebody does.
    """

    __slots__ = (
        "_given",
        "_keeper",
        "_key",
        "_locals",
        "_profile",
        "_steps",
        "_streaming",
        "_types",
        "_waits_for_answers",
        "_written",
        "journal",
        "resumed",
    )

    def __init__(  # noqa: PLR0913  # whose run it is, and how it is kept
        self,
        keeper: Keeper | None,
        types: TypeRegistry,
        key: str | None,
        run_path: tuple[str, ...],
        profile: Profile,
        given: Sequence[Message],
        *,
        streaming: bool,
    ) -> None:
        self._keeper = keeper
        self._types = types
        self._key = key
        self._profile = profile.name
        self._waits_for_answers = (
            keeper is not None
            and profile.resumed_iteration == "goes_on"
            and profile.failing_call == "siblings_finish"
        )
        self._given = given
        self._streaming = streaming
        self._steps = 0
        self._written = History()
        self._locals: dict[str, str] = {}
        raises_again = profile.swallowed_interrupt == "raised_again"
        self.journal: Journal = Journal(run_path, types, raises_again=raises_again)
        self.resumed: bool = False

    def waits_despite(self, error: Exception | None) -> bool:
        """Tell whether an interrupt is answered first where a sibling failed.

        Then the error comes when all calls have ended, as it would have without it.
        """
        if error is None:
            return True
        # What a wrapper returned that is not text could not be kept for later.
        waits = self._key is not None and self._waits_for_answers
        return waits and not isinstance(error, (HookReturnError, ToolResultTypeError))

    def go_on(self, saved: Saved, answers: Mapping[str, Json] | None) -> Saved:
        """Go on from what was kept; return that with the answers in it."""
        self._steps = saved.steps
        self.resumed = True
        return self.journal.go_on(saved, answers)

    def begun(self, history: History, values: Mapping[str, object]) -> RunLocals:
        """Return the run-local values, given the history that the run begins with."""
        if self.resumed:
            self._written = history
            self._locals = {key: self._text(key, each) for key, each in values.items()}
        else:
            check_all(self._types, self._given, ("the caller", "run"))
        return CheckedLocals(self._types, values)

    async def step(  # what a step is made of
        self,
        iteration: int,
        history: History,
        values: Mapping[str, object],
        point: Point,
        pending: tuple[Pending, ...] = (),
        *,
        first: Message | None = None,
    ) -> None:
        """Write a step; it is safe when this returns. Raises what the keeper raises."""
        if self._keeper is None or self._key is None:
            return
        start = None
        if not self._steps:
            agent = self.journal.run_path[-1]
            given = len(self._given)
            start = Start(
                agent, self._profile, self._streaming, given, first is not None
            )
        keep = history.shared(self._written)
        splice = Splice(keep, history.since(keep))
        changed = self._changed(values)
        step = Step(self._steps, iteration, splice, point, changed, pending, start)
        await self._keeper.write(self._key, step)
        self._steps += 1
        self._written = history

    def hook(self, name: LayerName, new: State, old: State) -> None:
        """Look at what a hook left; raises NotKeepableError."""
        where = (name.owner, name.hook)
        if new[0] is not old[0]:
            check_context(self._types, new[0], old[0], where)
        if new[1] is not old[1]:
            check_new(self._types, new[1], old[1], where)

    def response(self, message: Message) -> None:
        """Look at what the model, or a wrapper around it, gave."""
        check_message(self._types, message, ("the model", "invoke"), "response")

    def _changed(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return the run-local values that are not as they were written last.

        All are looked at: one that was set and then changed in place is kept, too.
        """
        changed: dict[str, object] = {}
        for key, value in values.items():
            text = self._text(key, value)
            if self._locals.get(key) != text:
                self._locals[key] = text
                changed[key] = value
        for key in [key for key in self._locals if key not in values]:
            del self._locals[key]
            changed[key] = GONE
        return changed

    def _text(self, key: str, value: object) -> str:
        where = ("the run", "its end")
        return json.dumps(packed(self._types, value, where, f"run local {key!r}"))
