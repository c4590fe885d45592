"""The person who confirms calls, as the runs of a scenario say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from refengine.messages import Json
from refengine.testing.flows.events import FlowQuestion, FlowResponse, known
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import ReplySpec
from refengine.testing.tool_runs import calling
from refengine.testing.world import World

APPROVAL: Final = "approval"
"""The effect under which each call that a person was asked about is put down."""
YES: Final = ReplySpec()


class FlowPerson:
    """Answers confirmations: denied calls with no, others as the replies say in turn.

    A reply that is no plain yes or no confirms with its value as the payload.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._denied: Collection[str] = ()
        self._replies: Sequence[ReplySpec] = ()
        self._asked = 0

    def begins(self, denied: Collection[str], replies: Sequence[ReplySpec]) -> None:
        """Begin another run."""
        self._denied, self._replies, self._asked = denied, replies, 0

    def answers(self, asked: Sequence[FlowQuestion]) -> Sequence[FlowResponse]:
        """Return the answers to these questions; none of those that stay open."""
        found = [(each, self._answer(each)) for each in asked]
        return [
            FlowResponse(question.id, question.name, answer)
            for question, answer in found
            if answer is not None
        ]

    def _answer(self, question: FlowQuestion) -> dict[str, Json] | None:
        reply = self._next()
        call = question.call
        kind = "no" if call.id in self._denied else reply.kind
        confirmed = kind not in {"no", "nothing"}
        told: dict[str, Json] = {
            "name": call.name,
            "args": snapshot(call.args),
            "hint": question.hint,
            "approved": confirmed,
        }
        with calling(known(call.id)):
            self._world.effect(APPROVAL, told)
        if kind == "nothing":
            return None
        answer: dict[str, Json] = {"confirmed": confirmed}
        if kind in {"edited", "text"}:
            answer["payload"] = reply.value
        return answer

    def _next(self) -> ReplySpec:
        self._asked += 1
        if not self._replies:
            return YES
        return self._replies[(self._asked - 1) % len(self._replies)]
