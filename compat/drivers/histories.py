"""The history of a run whose engine hands out none: what its parts were shown of it.

An engine need not say what a run has come to. Yet the model saw the history before each
answer, hooks around it saw and left it, and results were told; that is all there is.
"""

from __future__ import annotations

from collections.abc import Sequence

from refengine.messages import Message
from refengine.run import RunResult
from refengine.testing import doors


class SeenHistory:
    """What was seen of one run, iteration by iteration."""

    def __init__(self, given: Sequence[Message], *, has_instruction: bool) -> None:
        self.iterations = 0
        self._has_instruction = has_instruction
        self._asked: Sequence[Message] = given
        self._left: Sequence[Message] | None = None
        self._answer: Message | None = None
        self._results: dict[str | None, Message] = {}
        self._last: Message | None = None

    def ask(self, messages: Sequence[Message]) -> None:
        """Note with what the model is asked, in a new iteration."""
        self.iterations += 1
        self._asked, self._left, self._answer = messages, None, None
        self._results = {}

    def leave(self, messages: Sequence[Message]) -> None:
        """Note what a hook after the model left."""
        self._left = messages

    def tell(self, message: Message) -> None:
        """Note an answer, or a result, that the engine told of."""
        self._last = message
        if message.role == "tool":
            self._results[message.tool_call_id] = message
        else:
            self._answer = message

    def ended(self) -> RunResult:
        """Return how the run ended, if it did not fail."""
        history = self._history()
        first = history[0] if history and self._has_instruction else None
        own = first if first is not None and first.role == "system" else None
        last = self._last
        if last is not None and last.role == "tool":
            return doors.ended(
                history,
                "returned_directly",
                answer=last,
                iterations=self.iterations,
                first=own,
            )
        answer = history[-1] if history else None
        return doors.ended(
            history, answer=answer, iterations=self.iterations, first=own
        )

    def _history(self) -> list[Message]:
        history = list(self._asked if self._left is None else self._left)
        if self._left is None and self._answer is not None:
            history.append(self._answer)
        calls = history[-1].tool_calls if history else ()
        results = (self._results.get(each.id) for each in calls)
        return history + [each for each in results if each is not None]
