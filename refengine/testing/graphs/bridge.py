"""What ``world.as_langchain()`` gives a subject to build its graph from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from langchain_core.language_models import BaseChatModel

from refengine.messages import Json
from refengine.testing.graphs.messages import written
from refengine.testing.graphs.model import MODEL, WorldChatModel
from refengine.testing.graphs.tools import OWN, WorldTool, calling, world_tool
from refengine.testing.graphs.wire import Line
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.recorder import snapshot
from refengine.testing.trace import to_json
from refengine.testing.world import World

Answer: TypeAlias = Callable[[Any], object]

APPROVAL: Final = "approval"
"""The effect under which each call that a person was asked about is put down."""


class UnansweredInterruptError(RuntimeError):
    """A graph interrupts with a value that nobody said how to answer."""

    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__(
            f"the graph interrupts with {value!r}, and the world cannot tell what would"
            " resume it: say so with world.as_langchain().answer_interrupts(function)"
        )


class LangChainBridge:
    """A world as LangChain and LangGraph see it.

    ``model`` and ``tools`` are the world's own; ``system_prompt`` is the instruction,
    or None where there is none. A graph may be built from other tools too, which are
    observed when they run, but from no other model.
    """

    def __init__(self, world: World, tools: Sequence[WorldTool]) -> None:
        self._world = world
        self._answer: Answer | None = None
        self.denied: frozenset[str] = frozenset()
        self._line = None if world.wire is None else Line.to(world, world.wire)
        self.model = self.model_named(MODEL)
        self.tools = list(tools)
        self.system_prompt = world.instruction or None

    @classmethod
    def of(cls, world: World) -> LangChainBridge:
        """Return the face of a world."""
        return cls(world, [world_tool(spec, world) for spec in world.tool_specs])

    def model_named(self, name: str) -> BaseChatModel:
        """Return a second model; it plays the same script, and requests name it."""
        if self._line is not None:
            return self._line.model(name)
        return WorldChatModel(world=self._world, model_name=name, metadata={OWN: True})

    def close(self) -> None:
        """Let go of the connection to a server, if the model has one."""
        if self._line is not None:
            self._line.close()

    def approves(self, call: Mapping[str, Any]) -> bool:
        """Ask the world's person about a tool call, by its ``id`` or name and args.

        The question is an effect, so asking another question, or after the tool ran, is
        another behaviour. Which calls are denied is part of the scenario.
        """
        call_id = call.get("id") or self._id_of(call)
        approved = call_id not in self.denied
        question: dict[str, Json] = {
            "name": str(call.get("name")),
            "args": snapshot(call.get("args")),
            "approved": approved,
        }
        # An interrupt is answered between calls of the graph, in no call's own code.
        with calling(call_id):
            self._world.effect(APPROVAL, question)
        return approved

    def answer_interrupts(self, answer: Answer) -> None:
        """Say what resumes an interrupted graph: ``answer`` is given its value.

        Not needed for requests of ``HumanInTheLoopMiddleware`` and of the older
        ``HumanInterrupt``. ``answer`` asks ``approves`` about each call.
        """
        self._answer = answer

    def resumed_with(self, value: object) -> object:
        """Return what resumes an interrupt; raises UnansweredInterruptError."""
        self._world.recorder.add("interrupt", {"value": snapshot(value)})
        if self._answer is not None:
            return self._answer(value)
        if is_mapping(value) and is_list(value.get("action_requests")):
            return {"decisions": list(map(self._decision, value["action_requests"]))}
        if is_list(value) and all(
            is_mapping(v) and "action_request" in v for v in value
        ):
            return [self._older(cast("Mapping[str, Any]", each)) for each in value]
        raise UnansweredInterruptError(value)

    def _decision(self, request: Mapping[str, Any]) -> dict[str, str]:
        if self.approves(request):
            return {"type": "approve"}
        return {"type": "reject", "message": "denied"}

    def _older(self, question: Mapping[str, Any]) -> dict[str, Any]:
        request = question["action_request"]
        call = {"name": request.get("action"), "args": request.get("args")}
        if self.approves(call):
            return {"type": "accept", "args": None}
        return {"type": "response", "args": "denied"}

    def _id_of(self, call: Mapping[str, Any]) -> str | None:
        """Return the id of the call of that name and arguments in the last response."""
        last = self._world.recorder.last("model_response")
        if last is None:
            return None
        message = cast("Mapping[str, Any]", to_json(last.data["message"]))
        for each in message.get("tool_calls", ()):
            same = each["name"] == call.get("name")
            if same and each["arguments"] == written(call.get("args")):
                return str(each["id"])
        return None
