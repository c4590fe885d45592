"""What ``world.as_langchain()`` gives a subject to build its graph from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel

from refengine.testing.graphs.model import MODEL, WorldChatModel
from refengine.testing.graphs.person import Call, GraphPerson
from refengine.testing.graphs.tools import OWN, WorldTool, world_tool
from refengine.testing.graphs.wire import Line
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import ReplySpec
from refengine.testing.world import World

Answer: TypeAlias = Callable[[Any], object]


class LangChainBridge:
    """A world as LangChain and LangGraph see it.

    ``model`` and ``tools`` are the world's own; ``system_prompt`` is the instruction,
    or None where there is none. A graph may be built from other tools too, which are
    observed when they run, but from no other model.
    """

    def __init__(self, world: World, tools: Sequence[WorldTool]) -> None:
        self._world = world
        self._answer: Answer | None = None
        self._person = GraphPerson(world)
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

    def begins(self, denied: Collection[str], replies: Sequence[ReplySpec]) -> None:
        """Begin another run, in which a person denies calls and answers like that."""
        self._person.begins(denied, replies)

    def approves(self, call: Mapping[str, Any]) -> bool:
        """Ask the world's person about a tool call, by its ``id`` or name and args.

        The question is an effect, so asking another question, or after the tool ran, is
        another behaviour. Which calls are denied is part of the scenario.
        """
        return self._person.says(call) != "no"

    def answer_interrupts(self, answer: Answer) -> None:
        """Say what resumes an interrupted graph: ``answer`` is given its value.

        Not needed: without it a person answers by the form of the question, as the
        scenario says. ``answer`` asks ``approves`` about each call.
        """
        self._answer = answer

    def resumed_with(self, value: object, call: Call | None = None) -> object:
        """Return what resumes an interrupt, of the node of that call if it is one's."""
        self._world.recorder.add("interrupt", {"value": snapshot(value)})
        if self._answer is not None:
            return self._answer(value)
        return self._person.answers(value, call)

    def goes_on(self, calls: Sequence[Call]) -> bool:
        """Ask the person about a run that only stops, before or after such calls."""
        self._world.recorder.add("interrupt", {"value": None})
        return self._person.lets_go_on(calls)


def bridge_of(world: World) -> LangChainBridge:
    """Return the face of a world, as who plays its graph uses it."""
    found = world.as_langchain()
    assert isinstance(found, LangChainBridge)  # noqa: S101  # the only one there is
    return found
