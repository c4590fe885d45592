"""The history of a run whose engine hands out none: what its parts were shown of it.

An engine need not say what a run has come to. Yet the model saw the history before each
answer, hooks around it saw and left it, and results were told; that is all there is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Literal, TypeAlias

from refengine.messages import Message, ToolCall
from refengine.routing import without_result
from refengine.run import RunResult
from refengine.testing import doors
from refengine.testing.doors import FailedRun

Phase: TypeAlias = Literal["start", "before", "model", "after"]
"""How far an iteration has come: its first hook, the model, a hook after it."""


class SeenHistory:
    """What was seen of one run, iteration by iteration."""

    def __init__(
        self,
        given: Sequence[Message],
        *,
        has_instruction: bool,
        sent_each_call: bool = False,
        edits_kept: bool = True,
    ) -> None:
        self.iterations = 0
        self.has_instruction = has_instruction
        """Whether the engine itself puts a message first."""
        self._sent_each_call = sent_each_call
        """Whether it does so for each call alone, and keeps it in no history."""
        self._edits_kept = edits_kept
        """Whether what hooks before the model leave stays in the history."""
        self._phase: Phase = "start"
        self._asked: Sequence[Message] = given
        self._left: Sequence[Message] | None = None
        self._answer: Message | None = None
        self.results: dict[str | None, Message] = {}
        """Those of the iteration, by call id; what is read later belongs there, too."""
        self._told: Message | None = None
        self._first: Message | None = None
        self._is_after_calls = False
        self._kept: Sequence[Message] = ()

    def ask(self, messages: Sequence[Message]) -> None:
        """Note with what the model is asked: once an iteration."""
        if self._phase != "before":
            self._begin(messages)
        elif not self._edits_kept:
            self._phase = "model"
            return
        shown = tuple(messages)
        if self._sent_each_call and self.has_instruction:
            shown = shown[1:] if shown and shown[0].role == "system" else shown
        self._asked, self._phase = shown, "model"

    def _begin(self, messages: Sequence[Message]) -> None:
        kept = self.has_instruction and not self._sent_each_call
        if self.iterations == 0 and kept and messages:
            self._first = messages[0] if messages[0].role == "system" else None
        self.iterations += 1
        self._left = self._answer = None
        self.results = {}

    @contextmanager
    def hook(
        self, messages: Sequence[Message], *, after: bool
    ) -> Generator[Callable[[Sequence[Message]], None], None, None]:
        """Note what one hook of a pass is given, and leaves; nothing if it fails."""
        if after:
            self._phase = "after"
        elif self._phase != "before":
            self._begin(messages)
            self._asked, self._phase = tuple(messages), "before"
        left: list[Sequence[Message]] = []
        try:
            yield left.append
        except BaseException:
            if after:
                self._left = None  # a pass that failed has left nothing
            raise
        if after:
            self._left = tuple(left[-1])

    def answer(self, result: Message) -> None:
        """Note a result that the engine tells nobody of."""
        self.results[result.tool_call_id] = result
        self._is_after_calls = True

    def hear(self, role: str | None) -> None:
        """Note whose event came, in the order in which the engine told them."""
        if role is not None:
            self._is_after_calls = role == "tool"

    def tell(
        self, message: Message, results: dict[str | None, Message] | None = None
    ) -> None:
        """Note an answer, or a result, that the consumer has got as a whole.

        ``results`` are those of the iteration in which its event came.
        """
        self._told = message
        if message.role == "tool":
            found = self.results if results is None else results
            found[message.tool_call_id] = message
        else:
            self._answer = message

    def take(self, results: Sequence[Message]) -> None:
        """Note the results of the last calls as the engine itself keeps them.

        Their events may say what wrappers made of their names and ids.
        """
        self._kept = tuple(results)

    def ended(self, answer: Message | None = None) -> RunResult:
        """Return how the run ended, if it did not fail; an answer is the engine's own.

        Calls after which the model was asked no more are what ended it. Hooks that
        nobody sees may have gone over the answer behind the last that somebody does.
        """
        history = self._history()
        history += self._known_results(_open_calls(history))
        direct = self._is_after_calls
        if answer and not direct and history and history[-1].role == answer.role:
            history[-1] = answer
        last = history[-1] if history else None
        told = self._told if self._told and self._told.role == "tool" else None
        return doors.ended(
            history,
            "returned_directly" if direct else "completed",
            answer=answer or (told or last if direct else last),
            iterations=self.iterations,
            first=self._first,
        )

    def failed(self, error: Exception) -> FailedRun:
        """Return how the run ended that failed: as it was before what failed began."""
        history = self._history()
        calls = _open_calls(history)
        results = self._known_results(calls)
        if len(results) == len(calls):
            history += results
        return doors.failed(
            error,
            history,
            iterations=self.iterations,
            first=self._first,
        )

    def _history(self) -> list[Message]:
        if self._left is not None:
            return list(self._left)
        own = [] if self._answer is None else [self._answer]
        return [*self._asked, *own]

    def _known_results(self, calls: Sequence[ToolCall]) -> list[Message]:
        if calls and [each.id for each in calls] == [
            each.tool_call_id for each in self._kept
        ]:
            return list(self._kept)
        results = (self.results.get(each.id) for each in calls)
        return [each for each in results if each is not None]


def _open_calls(history: Sequence[Message]) -> list[ToolCall]:
    """Return those of the last calls that have no result; a hook may have left some."""
    for at in reversed(range(len(history))):
        if history[at].tool_calls:
            return list(without_result(history[at].tool_calls, history[at:]))
    return []
