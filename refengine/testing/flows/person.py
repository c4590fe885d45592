"""The person who confirms calls, as the runs of a scenario say."""

from __future__ import annotations

from collections.abc import Sequence

from refengine.messages import Json
from refengine.testing.flows.events import FlowQuestion, FlowResponse, known
from refengine.testing.person import APPROVAL, RepliesInTurn
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import calling
from refengine.testing.world import World


class FlowPerson(RepliesInTurn):
    """Answers confirmations: denied calls with no, others as the replies say in turn.

    A reply that is not a plain yes or no confirms with its value as the payload.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def answers(self, asked: Sequence[FlowQuestion]) -> Sequence[FlowResponse]:
        """Return the answers to these questions; none of those that stay open."""
        found = [(each, self._answer(each)) for each in asked]
        return [
            FlowResponse(question.id, question.name, answer)
            for question, answer in found
            if answer is not None
        ]

    def _answer(self, question: FlowQuestion) -> dict[str, Json] | None:
        reply = self.next_reply()
        call = question.call
        kind = "no" if call.id in self.denied else reply.kind
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
